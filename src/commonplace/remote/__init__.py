"""Hosts without the folder: notes, history and an inbox of changes in the database of the index.

The host with the folder publishes (`commonplace.remote.publisher`) and applies the inbox
(`commonplace.remote.inbox`); the others read and write what is published.
"""
