"""Redaction, measured: how many forms of secrets are masked, and how many harmless texts touched.

python tests/benchmarks/redaction.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from commonplace.text.redaction import redact
from support.secret_forms import forms

SEEDS = range(5)
BEFORE = {
    1: ("63.1%", "9.1%"),
    2: ("82.5%", "3.5%"),
    3: ("87.4%", "4.8%"),
    4: ("97.1%", "3.1%"),
    5: ("88.9%", "3.1%"),
    6: ("91.2%", "0.7%"),
    7: ("95.4%", "0.5%"),
    8: ("92.3%", "7.5%"),
    9: ("97.7%", "1.7%"),
    10: ("89.3%", "1.3%"),
    11: ("71.9%", "2.7%"),
    12: ("78.3%", "1.7%"),
    13: ("63.1%", "3.1%"),
    14: ("72.1%", "1.5%"),
    15: ("98.6%", "3.3%"),
    16: ("91.0%", "1.7%"),
    17: ("97.1%", "2.0%"),
    18: ("99.5%", "0.0%"),
    19: ("97.1%", "2.5%"),
}
"""What was masked and touched of each later list when it was written."""
PROSE = "I moved the meeting with Ann to Tuesday; the VPN listens on 51820, and the key is there. "


def main() -> None:
    """Print the counts and the time."""
    for kept_aside in (False, True):
        what = "kept aside" if kept_aside else "tuned     "
        drawn = [one for seed in SEEDS for one in forms("secrets", seed=seed)]
        drawn = [one for one in drawn if one.kept_aside is kept_aside]
        masked = sum(not one.leaks(redact(one.text)) for one in drawn)
        harmless = [one for one in forms("harmless") if one.kept_aside is kept_aside]
        touched = sum(redact(one.text) != one.text for one in harmless)
        print(
            f"{what}: {masked} of {len(drawn)} secrets masked ({masked / len(drawn):.1%}), "
            f"{touched} of {len(harmless)} harmless texts touched ({touched / len(harmless):.1%})"
        )
    for number, (masked_before, touched_before) in BEFORE.items():
        drawn = [one for seed in SEEDS for one in forms(f"round_{number}_secrets", seed=seed)]
        masked = sum(not one.leaks(redact(one.text)) for one in drawn)
        harmless = list(forms(f"round_{number}_harmless"))
        touched = sum(redact(one.text) != one.text for one in harmless)
        print(
            f"list {number}    : {masked / len(drawn):.1%} of {len(drawn)} secrets masked (before "
            f"any rule was changed for it {masked_before}), {touched / len(harmless):.1%} of "
            f"{len(harmless)} harmless texts touched ({touched_before})"
        )
    drawn = [one for seed in SEEDS for one in forms("vendors", seed=seed)]
    masked = sum(not one.leaks(redact(one.text)) for one in drawn)
    print(
        f"services  : {masked / len(drawn):.1%} of {len(drawn)} tokens masked with no name beside"
    )
    for size in (125_000, 1_000_000):
        text = (PROSE * (size // len(PROSE) + 1))[:size]
        begun = time.process_time()
        redact(text)
        print(f"{size:>9,} characters of prose: {time.process_time() - begun:.2f} s")


if __name__ == "__main__":
    main()
