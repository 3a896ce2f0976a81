"""Items: JSON values as Markdown files, under namespaces that are folders.

What an adapter to a framework's store interface needs: names of files for keys and namespaces of
any text, the layout of a value, filters, lifetimes, and the verbs on them.
"""

from commonplace.items.files import StoredItem
from commonplace.items.service import ItemStore

__all__ = ["ItemStore", "StoredItem"]
