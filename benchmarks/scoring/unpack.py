"""Unpack a .gz or .zst file and do nothing with it: FILE."""

import sys
import zlib

import zstandard

path = sys.argv[1]
unpacker = zlib.decompressobj(31) if path.endswith(".gz") else zstandard.ZstdDecompressor().decompressobj()
with open(path, "rb") as file:
    while piece := file.read(1 << 16):
        unpacker.decompress(piece)
