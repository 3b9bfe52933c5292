"""The logical names of devices."""

#: The same on every machine, so that no machine's curves drop out of the published page: the name, and what its
#: platform's name holds.
PLATFORMS = {
    "pocl": "Portable Computing Language",
    "intel": "Intel(R)",
    "rusticl": "rusticl",
    "nvidia": "NVIDIA",
    "amd": "AMD Accelerated",
}
