"""History: what notes were before they were changed, by which change, and from which origin."""
