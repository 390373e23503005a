"""Functional coverage of a unit: bins, counts, and cases that are solved for.

Import from the modules: `plan` of hwsim.coverage.plan, `Counter` of hwsim.coverage.counter, `covering` of
hwsim.coverage.covering.
"""
