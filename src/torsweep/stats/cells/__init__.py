"""What happens inside relays: how long cells stay, their spikes, the queues of circuits."""
