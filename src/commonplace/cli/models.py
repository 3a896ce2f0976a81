"""The ``fetch-model`` command: a model file of the Hugging Face hub, fetched with consent."""

from __future__ import annotations

import click

from commonplace.cli.output import print_text

__all__ = ["fetch_model"]


@click.command("fetch-model")
@click.argument("name", metavar="hf:OWNER/REPOSITORY/FILE.gguf")
@click.option("--yes", is_flag=True, help="Fetch without being asked.")
def fetch_model(name: str, *, yes: bool) -> None:
    """Fetch a model file from the Hugging Face hub, for the embedder 'local:'.

    Its size is said before anything is fetched. No other command fetches a model.
    """
    from commonplace.embeddings.providers.local import hub
    from commonplace.errors import EmbedderError

    try:
        path = hub.local_copy(name)
    except EmbedderError:
        size = hub.size_of(name)
        print_text(f"{name}: {size / 1e6:,.0f} MB ({size:,} bytes) from the Hugging Face hub")
        if not yes:
            click.confirm("Fetch it?", abort=True, err=True)
        path = hub.fetch(name)
    print_text(f"{path}\nuse it with: commonplace --embedder local:{name} index")
