"""What a careful user asks for: to forget and prove it, to encrypt, to check, to back up and to salvage."""
