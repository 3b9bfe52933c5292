"""What a counting pass leaves on the device for the list that follows it."""
