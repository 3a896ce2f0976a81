"""What several test modules share: fakes, servers on the loopback, scripted talks, processes."""
