"""Functional coverage of a unit: bins, counts, and cases that are solved for.

Import from the modules: `plan` of hwsim.cases.bins.plan, `Counter` of hwsim.cases.bins.plan, `covering` of
hwsim.cases.bins.covering.
"""
