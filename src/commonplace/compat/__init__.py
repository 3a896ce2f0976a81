"""Profiles of other systems, each in a folder that nothing else depends on."""
