"""Examples of ``--help``: command lines with their purpose."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["EXAMPLES", "epilog"]

EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "": (
        ("commonplace demo", "see it work on invented notes"),
        ("commonplace -w notes init", "begin a folder of notes"),
        ('commonplace -w notes append "- Decided: the VPN listens on 51820"', ""),
        ('commonplace -w notes search "which port does the VPN use?"', ""),
        ("export COMMONPLACE_WORKSPACE=~/notes", "leave -w out from now on"),
    ),
    "init": (
        ("commonplace init", "in the current folder"),
        ("commonplace -w ~/notes init", "in another one"),
    ),
    "status": (
        ("commonplace status", "what is indexed, what is out of date"),
        ("commonplace status --deep", "try the embedder and the index too"),
        ("commonplace status --index --json", "index first, and print JSON"),
    ),
    "index": (
        ("commonplace index", "read what has changed"),
        ("commonplace --embedder openai index", "with vectors of OpenAI"),
        ("commonplace index --force", "read everything again"),
    ),
    "verify": (
        ("commonplace verify", "exit status 1 when something is wrong"),
        ("commonplace verify --repair", "and mend it"),
    ),
    "search": (
        ('commonplace search "who pays for hosting?"', ""),
        ("commonplace search hosting --explain", "what made each score"),
        ("commonplace search hosting --min-score 0.6", "good matches only"),
        ("commonplace --embedder none search hosting", "by keywords alone"),
    ),
    "get": (
        ("commonplace get MEMORY.md", "the whole file"),
        ("commonplace get MEMORY.md --from 10 --lines 5", "lines 10 to 14"),
    ),
    "append": (
        ('commonplace append "- Decided: hosting is paid by the club"', ""),
        ("echo '- Released 1.2' | commonplace append -", "from standard input"),
    ),
    "edit": (
        ('commonplace edit MEMORY.md "port 1194" "port 51820"', "one place, not more"),
        ('commonplace edit MEMORY.md "- Call Ann." ""', "take a line out"),
    ),
    "correct": (
        ('commonplace correct MEMORY.md#L3 "The VPN listens on 51820"', ""),
        ("commonplace search VPN", "shows the lines and their citations"),
    ),
    "rm": (
        ("commonplace rm memory/guest.md", ""),
        ("commonplace history memory/guest.md", "numbers the deletion, for 'undo'"),
    ),
    "mv": (("commonplace mv memory/vpn.md memory/network/vpn.md", "with its history"),),
    "history": (
        ("commonplace history", "what changed in all notes"),
        ("commonplace history MEMORY.md --limit 5", "the last changes of one"),
    ),
    "undo": (
        ("commonplace history MEMORY.md", "numbers the changes"),
        ("commonplace undo 12", "takes number 12 back"),
    ),
    "blame": (("commonplace blame MEMORY.md", "line by line"),),
    "forget": (
        ('commonplace forget --text "12 Elm Street" --dry-run', "what would go"),
        ("commonplace forget --citation MEMORY.md#L3", "one line"),
        ("commonplace forget --path memory/guest.md --yes", "without being asked"),
    ),
    "import": (
        ("commonplace import chatgpt export.zip --dry-run", "count the notes"),
        ("commonplace import claude ~/Downloads/export", ""),
        ("commonplace import claude-code", "its own folder"),
        ("commonplace -w new import commonplace backup", "what 'export' wrote"),
        ("commonplace import openclaw", "settings for its agents"),
    ),
    "export": (("commonplace export backup", "to a new folder"),),
    "migrate": (
        ("commonplace migrate --to 'postgresql://db/notes?name=team'", ""),
        ("commonplace migrate --from 'postgresql://db/notes?name=team'", "back"),
    ),
    "watch": (("commonplace watch", "until Ctrl-C"),),
    "serve": (
        ('commonplace -w notes serve --index "postgresql://db/team?name=notes"', ""),
        ("export COMMONPLACE_INDEX=postgresql:///?service=team", "leave --index out"),
    ),
    "mcp": (
        ("commonplace -w ~/notes mcp", "for a client's configuration"),
        ("commonplace -w ~/notes mcp --write append", "clients may add notes"),
        ("commonplace -w ~/notes mcp --http 8765", "over HTTP, on this machine"),
    ),
    "eval": (
        ("commonplace -w notes eval questions.jsonl", "your notes, your questions"),
        ("commonplace eval --example demo ruler", "write notes with questions"),
        ("commonplace eval ruler/questions.jsonl", "and measure on them"),
    ),
    "demo": (
        ("commonplace demo", "leaves nothing behind"),
        ("commonplace demo --keep notes", "keep the notes to try things out"),
    ),
    "fetch-model": (
        ("commonplace fetch-model hf:OWNER/REPOSITORY/FILE.gguf", "asks first"),
        ("commonplace --embedder local:model.gguf index", "a file that is here"),
    ),
    "completion": (
        ('eval "$(commonplace completion bash)"', "bash: in ~/.bashrc"),
        ('eval "$(commonplace completion zsh)"', "zsh: in ~/.zshrc, after compinit"),
        ("commonplace completion fish | source", "fish: in ~/.config/fish/config.fish"),
    ),
}
"""Examples by command; the empty name is ``commonplace`` itself."""


def epilog(name: str) -> str:
    r"""Return a command's examples as an epilog; ``\b`` keeps click from refilling the lines."""
    examples = EXAMPLES.get(name, ())
    width = max((len(line) for line, what in examples if what), default=0)
    lines = [f"{line.ljust(width)}  # {what}" if what else line for line, what in examples]
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""
