"""Devices by name."""

from reprlib import repr as shortened

import torch


class DeviceError(ValueError):
    """A device that this machine does not have; the message says what to choose."""


def resolve_device(name: str) -> torch.device:
    """The device of that name; "auto" is a CUDA GPU if there is one, else the CPU.

    Raises DeviceError if the name is unknown or the machine has no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise DeviceError(f"The device {shortened(name)} is unknown; choose auto, cpu or cuda.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceError(
            f"This machine has no device {shortened(name)} that torch can use; choose auto or cpu."
        )
    return device
