"""Which packages there are: those in hwsim/, and rtl/, tb/, docs/ and capture/, which are installed inside hwsim.

docs/ and capture/ hold nothing that hwsim imports; hwsim/base/package.py finds them. Nor do folders of templates.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["hwsim", "hwsim.*"]),
        *(f"hwsim.{name}.templates" for name in ("cocotb", "compute.c", "explain", "cosim.engine", "cosim.vectors")),
        *(f"hwsim.{name}" for name in find_packages(include=["rtl", "rtl.*", "tb", "tb.*"])),
        "hwsim.docs",
        "hwsim.docs.studies",
        "hwsim.capture",
    ]
)
