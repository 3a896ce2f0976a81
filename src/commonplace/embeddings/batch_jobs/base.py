"""Protocol of a vendor's batch API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["BatchJobs", "JobState"]


@dataclass(frozen=True, slots=True)
class JobState:
    """State of a batch job.

    Attributes:
        state: ``running`` until the vendor has finished; ``done`` when results can be fetched
            (some texts may be missing from them); ``failed`` when there will be none (failed,
            expired, cancelled).
        detail: The vendor's own word for the state, or its reason; without secrets.
    """

    state: Literal["running", "done", "failed"]
    detail: str = ""


class BatchJobs(Protocol):
    """Batch API of a vendor. Every call is one or a few requests, without retries.

    The vendor client's exceptions are raised unchanged.
    """

    max_texts: int
    """Texts in one job, at most."""

    def submit(self, texts: list[str]) -> str:
        """Submit texts and return the job's id, with which another process can resume it."""

    def poll(self, job: str) -> JobState:
        """Return the state of a job."""

    def results(self, job: str) -> Mapping[int, Sequence[float]]:
        """Return a done job's vectors by the text's place in `submit`; failed texts are absent."""

    def cancel(self, job: str) -> None:
        """Cancel a job."""
