"""What is known of a problem and of a point: assumptions, theorems, potential, certificate and its scales."""
