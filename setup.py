"""Which packages there are: those in hwsim/, and rtl/ and tb/, which are installed as hwsim.rtl and hwsim.tb."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["hwsim", "hwsim.*"]),
        *(f"hwsim.{name}" for name in find_packages(include=["rtl", "rtl.*", "tb", "tb.*"])),
    ]
)
