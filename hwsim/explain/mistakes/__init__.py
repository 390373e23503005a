"""Mistakes that designs make, each with a meaning that can be computed: what a design with it returns for a case.

`catalogue` lists those that a unit can have. A mistake changes what passes one place of the arithmetic, as `flaw` has
the places; `machine` is the definition with a flaw in it. What no place of it can say, a latency or an inverted reset,
is not of the arithmetic, and is judged where a protocol is known (`hwsim/cosim/report.py`).
"""
