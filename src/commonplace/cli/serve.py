"""The ``serve`` command."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace

import click

from commonplace.cli.options import Options, pass_options
from commonplace.cli.output import warn
from commonplace.cli.watch import STEP_S, print_run, until_signalled
from commonplace.display import one_line

__all__ = ["serve"]

_END_S = 15.0
"""Seconds after a signal in which everything ends by itself; then the process ends anyway, which
loses nothing: what is not done is done by the next leader."""


@click.command()
@click.option(
    "--index",
    "url",
    envvar="COMMONPLACE_INDEX",
    metavar="URL",
    help="The index on a server, such as postgresql://host/database?name=team; default:"
    " COMMONPLACE_INDEX.",
)
@pass_options
def serve(options: Options, *, url: str | None) -> None:
    """Be the host that has the folder, until interrupted.

    Of several such hosts of one memory, one leads: it watches the files and makes the changes of
    hosts without the folder in them. The others wait, and take over within seconds. Each index run
    is reported in one line.
    """
    from commonplace.folder_host import FolderHost

    failed: list[BaseException] = []
    signalled, ended = threading.Event(), threading.Event()

    def run() -> None:
        try:
            host.run()
        except BaseException as error:  # noqa: BLE001 - the command raises it
            # The memory is closed beneath a host that is in the middle of something.
            if signalled.is_set():
                warn(f"did not come to its end: {one_line(str(error))}; the next leader does it")
            else:
                failed.append(error)
        finally:
            ended.set()

    with replace(options, index=url or options.index).open_memory() as memory:
        host = FolderHost(memory, say=_say, on_run=print_run)
        # The main thread only waits: a signal ends the command however busy the host is. It waits
        # for no thread: one whose `join` a signal interrupts passes for one that has ended.
        thread = threading.Thread(target=run, name="commonplace-serve", daemon=True)
        at_last = threading.Timer(_END_S, _exit)
        at_last.daemon = True
        with until_signalled() as stops:
            try:
                thread.start()
                while not ended.wait(STEP_S) and not stops.is_set():
                    pass
            finally:
                signalled.set()
                at_last.start()
                host.stop()
                memory.close()
                ended.wait()
                at_last.cancel()
    if failed:
        raise failed[0]


def _exit() -> None:
    click.echo("stopped", err=True)
    os._exit(0)


def _say(text: str) -> None:
    warn(f"{time.strftime('%H:%M:%S')}  {one_line(text)}")
