"""Marks the wheel as one for Linux on x64, since it holds a native part."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['AWB_WHEEL_PLATFORM']}"
