"""The devices of this machine, and libraries that are opened at run time."""
