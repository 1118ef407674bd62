"""What may be spent on services, by all that a subject asks."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from equiview.errors import InputError


@dataclass
class Budget:
    """US dollars that may be spent by all models that share it; None means no limit.

    Requests that are under way when the limit is reached are paid for as well.

    >>> budget = Budget(limit=1.0)
    >>> budget.add(0.75), budget.reached, budget.add(0.25), budget.reached
    (None, False, None, True)
    """

    limit: float | None = None
    spent: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, cost: float) -> None:
        """Count what a reply cost; from any thread."""
        with self._lock:
            self.spent += cost

    @property
    def reached(self) -> bool:
        """Whether nothing more may be asked."""
        return self.limit is not None and self.spent >= self.limit

    def check(self, name: str, price: tuple[float, float] | None, kept: str) -> None:
        """InputError where the limit is reached, or where no price says when it will be.

        `kept` are what is not asked for again.
        """
        if self.limit is not None and price is None:
            raise InputError(
                f"{name}: a limit of costs needs prices, and its own are not known; give price_in=, dollars "
                "for a million tokens"
            )
        if self.reached:
            raise InputError(
                f"{name}: stopped, ${self.spent:.4f} of at most ${self.limit:g} are spent; {kept} that came "
                "are kept: the same command asks only for the rest"
            )
