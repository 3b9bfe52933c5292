"""The numbers of binning: few points at once, many by way of buckets, very many by way of regions."""

import dataclasses

from .section import Section, number

__all__ = ["BinningTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class BinningTuning(Section):
    """Buckets, which are runs of cells that a group counts in local memory, and regions, which are runs of buckets."""

    #: points up to which one work-item of a device that is no GPU sorts all into cells (two cores: six launches take
    #: longer)
    serial_points: int = number(1 << 12, least=0)
    #: points for each work-item of a group up to which all groups read all points (H200: three launches take longer)
    few_of_item: int = number(64, least=0)
    #: points of a bucket that a group selects out of all points
    selected_points: int = number(256, least=1)
    #: work-items of such a group (H200)
    select_group: int = number(1024, least=1)
    #: points that such a work-item loads before it tests the first of them (H200: 4 and 16 take as long or longer)
    select_batch: int = number(8, least=1)
    #: counters of points in lower buckets, so that work-items in lockstep do not wait for each other
    select_spread: int = number(32, least=1)
    #: largest number of points of a bucket whose indices a group holds
    select_tile: int = number(1024, least=1)

    #: points of a bucket in an even cloud (H200: 2,048 and 4,096 are slower)
    bucket_points: int = number(1024, least=1)
    #: least number of buckets for each compute unit, as long as these do not get too small
    buckets_a_unit: int = number(4, least=1)
    #: least number of points of a bucket, where buckets are fewer than compute units need
    least_bucket_points: int = number(64, least=1)
    #: largest number of cells of a bucket: with more counters fewer groups run at once
    most_bucket_cells: int = number(8192, least=1)
    #: largest expected share of all points in one bucket, as one group fills it
    largest_share: float = number(1 / 32, most=1)
    #: expected number of points in one bucket that is accepted in any case
    soon_filled: int = number(4096, least=1)
    #: work-items of a group that counts buckets (H200, among 256, 512 and 1,024)
    bucket_group: int = number(512, least=1)
    #: points that such a work-item loads before it counts the first of them
    bucket_batch: int = number(4, least=1)
    #: least and largest number of groups that count buckets on each compute unit: as many as have a batch for each
    #: work-item (H200)
    bucket_groups_a_unit: tuple[int, int] = number((2, 4), least=1)
    #: work-items of a group that fills the cells of a bucket (H200, among 256, 512 and 1,024)
    fill_group: int = number(512, least=1)
    #: groups that fill cells on a compute unit at the same time, whose local memory they share where it is known
    fill_groups_a_unit: int = number(4, least=1)
    #: largest number of points of a bucket that are written at once; their places are 16-bit integers
    fill_tile: int = number(8192, least=1, most=65535)

    #: bytes of a line, which memory is written in
    line_bytes: int = number(128, least=1)
    #: bytes of lines that groups have begun and not filled, from which on points are sorted by region first (H200,
    #: whose caches hold as much: too early with 32 MiB, useful with 64 MiB)
    most_open_bytes: int = number(48 << 20, least=0)
    #: work-items of a group that sorts a tile by regions (H200, among 256, 512 and 1,024)
    region_group: int = number(256, least=1)
    #: points of the tile for each of these work-items (H200)
    region_batch: int = number(8, least=1)
    #: largest number of runs into which such a group divides its tile
    most_regions: int = number(256, least=1, most=65535)
