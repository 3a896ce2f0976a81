"""Prompts for models, as Markdown files beside their loader, `commonplace.prompts.templates`."""
