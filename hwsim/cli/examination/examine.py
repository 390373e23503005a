"""Looks for everything at once, and says what hwsim can do with it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hwsim.cli.examination import machine, packages, programs
from hwsim.cli.examination.finding import Finding, Probe, State, Use
from hwsim.cli.examination.listen import start, stop

SIMULATORS = {"verilator": Use.VERILATOR, "icarus": Use.ICARUS}
ALWAYS = (Use.HWSIM, Use.COSIM)


@dataclass(frozen=True)
class Examined:
    """What was found on this machine."""

    findings: tuple[Finding, ...]

    @property
    def simulators(self) -> tuple[str, ...]:
        """Those on which `hwsim cosim` can run."""
        return tuple(name for name, use in SIMULATORS.items() if not self._lacking((*ALWAYS, use)))

    def lacking(self, simulator: str) -> tuple[Finding, ...]:
        """What cannot be used and would be needed on a simulator."""
        return self._lacking((*ALWAYS, SIMULATORS[simulator]))

    def _lacking(self, uses: tuple[Use, ...]) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.use in uses and one.state is not State.OK)


def examine() -> Examined:
    """Look for all that hwsim can use. Raises nothing, whatever is broken, but KeyboardInterrupt at once."""
    probes = [programs.interpreter(), *packages.probes(), *programs.probes(), *machine.probes()]
    probes.sort(key=lambda probe: list(Use).index(probe.use))
    start()
    with ThreadPoolExecutor(len(probes)) as pool:
        try:
            return Examined(tuple(pool.map(Probe.finding, probes)))
        except KeyboardInterrupt:
            stop()  # leaving the pool waits for all of them
            raise
