"""Vectors of lines as bytes, and products of rows."""
