"""The workspace: a folder of Markdown files, its paths, discovery, reading and appending."""
