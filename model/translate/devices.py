"""Devices by name."""

from reprlib import repr as shortened

import torch


class DeviceError(ValueError):
    """A device that this machine does not have; the message says what to choose."""


def resolve_device(name: str | torch.device) -> torch.device:
    """The device of that name, "cpu", "cuda", "cuda:1" or "mps", that of an Apple processor.

    "auto" is a CUDA GPU if there is one, else the CPU. Raises DeviceError if the name is unknown or
    the machine has no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda", "mps"):
        raise DeviceError(
            f"The device {shortened(str(name))} is unknown; choose auto, cpu, cuda or mps."
        )
    count = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if device.type != "cpu" and (device.index or 0) >= count[device.type]:
        raise DeviceError(
            f"This machine has no device {shortened(str(device))} that torch can use; choose auto "
            "or cpu."
        )
    return device


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def resolve_dtype(dtype: str | torch.dtype) -> torch.dtype:
    """The type of a model's numbers, by its name in DTYPES too; DeviceError if there is none."""
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise DeviceError(
            f"There is no dtype {shortened(name)}; choose one of {', '.join(DTYPES)}."
        )
    return DTYPES[name]
