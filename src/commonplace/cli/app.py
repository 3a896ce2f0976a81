"""The ``commonplace`` command: global options, error messages, exit status."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from commonplace import __version__
from commonplace.cli import (
    append,
    changes,
    completion,
    demo,
    evaluate,
    export,
    forget,
    get,
    history,
    imports,
    index,
    init,
    mcp,
    migrate,
    models,
    search,
    serve,
    status,
    verify,
    watch,
)
from commonplace.cli.examples import epilog
from commonplace.cli.options import Options
from commonplace.cli.output import warn
from commonplace.errors import CommonplaceError
from commonplace.types import is_url

__all__ = ["app", "main"]

_INTERRUPTED = 130


class _App(click.Group):
    """Command group that reports errors in one line on standard error."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; with COMMONPLACE_DEBUG set, an error shows its traceback."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except click.NoSuchOption as error:
            name = error.option_name
            if not any(name in option.opts for option in self.params):
                raise
            right = (
                f"It belongs before the command: commonplace {name} ... {ctx.invoked_subcommand}"
            )
            raise click.NoSuchOption(name, f"{error.message} {right}", ctx=error.ctx) from None
        except (CommonplaceError, OSError) as error:
            if _is_broken_pipe(error) or _debugging():
                raise
            warn(error if isinstance(error, CommonplaceError) else _shown(error))
            ctx.exit(1)


@click.group(cls=_App, context_settings={"help_option_names": ["-h", "--help"]}, epilog=epilog(""))
@click.option(
    "-w",
    "--workspace",
    envvar="COMMONPLACE_WORKSPACE",
    default=".",
    metavar="FOLDER",
    help="The folder of notes; default: COMMONPLACE_WORKSPACE, else the current folder. Or the URL"
    " of an index on a server, postgresql://host/database?name=team: its notes, of which another"
    " host has the folder.",
)
@click.option(
    "--index",
    metavar="URL",
    help="The folder's index: postgresql://host/database?name=team, or the path of a file;"
    " default: a file in the platform's state folder.",
)
@click.option(
    "--agent",
    metavar="NAME",
    help="An agent of the settings file: its workspace, index, sessions and settings.",
)
@click.option(
    "--embedder",
    envvar="COMMONPLACE_EMBEDDER",
    metavar="NAME",
    help='Who makes the vectors: "provider" or "provider:model", "none" for keyword search.'
    " Default: COMMONPLACE_EMBEDDER, else what is there.",
)
@click.option(
    "--settings",
    "settings_file",
    metavar="FILE",
    help="A settings file (TOML); default: COMMONPLACE_CONFIG, else commonplace.toml in the"
    " platform's config folder (~/.config/commonplace on Linux).",
)
@click.version_option(__version__, prog_name="commonplace", message="%(prog)s %(version)s")
@click.pass_context
def app(
    ctx: click.Context,
    *,
    workspace: str,
    index: str | None,
    agent: str | None,
    embedder: str | None,
    settings_file: str | None,
) -> None:
    """Markdown memory for agents: files that people read, an index that finds the right lines."""
    # Shells do not expand ~ in a quoted COMMONPLACE_WORKSPACE, nor in --workspace=~/notes.
    folder = Path(os.path.expanduser(workspace))
    url = workspace if is_url(workspace) else None
    if url and index:
        raise click.UsageError("-w URL names an index already; --index is for a folder's.")
    ctx.obj = Options(folder, embedder, settings_file, index=index, url=url)
    if agent is not None:
        ctx.obj = _of_agent(ctx, ctx.obj, agent)


def _of_agent(ctx: click.Context, options: Options, name: str) -> Options:
    """Return the options with an agent's workspace, unless the command names another one."""
    from commonplace.agents import load_agent

    agent = load_agent(name, options.settings_file)
    is_named = ctx.get_parameter_source("workspace") is ParameterSource.COMMANDLINE
    options = replace(options, agent=name, index=options.index or agent.index)
    return options if is_named else replace(options, workspace=agent.workspace, url=None)


for command in (
    init.init,
    status.status,
    index.index,
    verify.verify,
    search.search,
    get.get,
    append.append,
    changes.edit,
    changes.correct,
    changes.rm,
    changes.mv,
    changes.undo,
    history.history,
    history.blame,
    forget.forget,
    imports.import_,
    export.export,
    migrate.migrate,
    watch.watch,
    serve.serve,
    mcp.mcp,
    evaluate.evaluate,
    demo.demo,
    models.fetch_model,
    completion.completion,
):
    command.epilog = epilog(command.name or "")
    app.add_command(command)


def main() -> None:
    """Run the command line and exit: 0 done, 1 an error, 2 wrong usage, 130 interrupted."""
    _read_names_as_utf8()
    _prepare_streams()
    _prepare_logging()
    try:
        app(prog_name="commonplace")
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _read_names_as_utf8() -> None:
    """Start again in UTF-8 mode where the locale has another encoding for the names of files.

    A note would have another name in each locale, and one that is not ASCII none in some.
    """
    is_utf8 = sys.flags.utf8_mode or sys.getfilesystemencoding() == "utf-8"
    is_chosen = "utf8" in sys._xoptions  # noqa: SLF001 - "-X utf8=0" would hold again
    if is_utf8 or is_chosen or os.name != "posix" or hasattr(sys, "frozen"):
        return
    encoding = sys.stdout.encoding if sys.stdout else "ascii"
    if encoding.lower() not in ("ascii", "us-ascii", "ansi_x3.4-1968"):
        os.environ.setdefault("PYTHONIOENCODING", encoding)
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _prepare_streams() -> None:
    """Replace characters that the terminal's encoding lacks, instead of raising an error."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _open_closed_streams() -> None:
    """Open the null device for standard streams that were closed, as services are started.

    Their numbers are free otherwise: a file that is opened has one, and what a library prints goes
    there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _prepare_logging() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("commonplace: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _OneLine(logging.Formatter):
    """Log formatter without tracebacks, unless COMMONPLACE_DEBUG is set."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the base class's name
        """Return the traceback while debugging, else an empty text."""
        return super().formatException(ei) if _debugging() else ""


def _debugging() -> bool:
    return os.environ.get("COMMONPLACE_DEBUG", "") not in ("", "0")


def _shown(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return f"{error.strerror}." if error.strerror else str(error)
    return f"{error.filename}: {error.strerror}. Check the path, and who may write there."


def _is_broken_pipe(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EPIPE
