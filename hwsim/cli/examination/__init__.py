"""What hwsim can use on this machine, and how to get what is missing.

Nothing here imports what it looks at: packages that are broken, hang or crash do so in a process of their own.
"""

from hwsim.cli.examination.examine import SIMULATORS, Examined, examine
from hwsim.cli.examination.finding import Finding, State

__all__ = ["SIMULATORS", "Examined", "Finding", "State", "examine"]
