"""What the device knows of periodic domains: tables of images, and the slots of many systems."""
