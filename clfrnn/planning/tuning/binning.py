"""The numbers of binning: how points come into cells, one by one, by way of buckets, or few of them at once."""

import dataclasses

from .section import Section, number

__all__ = ["BinningTuning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class BinningTuning(Section):
    """Buckets, which are runs of cells that a group counts in local memory, and regions, which are runs of buckets."""

    #: points up to which one work-item of a device that is no GPU brings all into cells (two cores: six launches take
    #: longer)
    serial_points: int = number(1 << 12, least=0)
    #: points up to which all groups read all points, for each item of a group (H200: three launches take longer)
    few_of_item: int = number(64, least=0)
    #: points of a bucket that a group selects out of all
    selected_points: int = number(256, least=1)
    #: work-items of such a group (H200)
    select_group: int = number(1024, least=1)
    #: points that such an item loads before it looks at the first of them (H200: 4 and 16 take as long or longer)
    select_batch: int = number(8, least=1)
    #: counters of points in lower buckets, so that items in step do not wait for each other
    select_spread: int = number(32, least=1)
    #: points of a bucket whose numbers a group holds, at most
    select_tile: int = number(1024, least=1)

    #: points of a bucket of an even cloud (H200: 2,048 and 4,096 are slower)
    bucket_points: int = number(1024, least=1)
    #: buckets for each compute unit, at least, as long as they do not get too small
    buckets_a_unit: int = number(4, least=1)
    #: points of a bucket, at least, where there would be too few buckets for all compute units
    least_bucket_points: int = number(64, least=1)
    #: cells of a bucket, at most: with more counters fewer groups are in flight
    most_bucket_cells: int = number(8192, least=1)
    #: share of all points that may be expected in one bucket, as one group has to fill it
    largest_share: float = number(1 / 32, most=1)
    #: points that may be expected in one bucket in any case
    soon_filled: int = number(4096, least=1)
    #: work-items of a group that counts buckets (H200, among 256, 512 and 1,024)
    bucket_group: int = number(512, least=1)
    #: points that such an item loads before it counts the first of them
    bucket_batch: int = number(4, least=1)
    #: groups that count buckets on each compute unit, at least and at most: as many as have a batch for each item
    #: (H200)
    bucket_groups_a_unit: tuple[int, int] = number((2, 4), least=1)
    #: work-items of a group that fills the cells of a bucket (H200, among 256, 512 and 1,024)
    fill_group: int = number(512, least=1)
    #: points of a bucket that are written in one go, at most; their places are shorts
    fill_tile: int = number(8192, least=1, most=65535)

    #: bytes that memory is written in at once
    line_bytes: int = number(128, least=1)
    #: bytes of such lines that groups may have begun and not filled before they sort by regions first (H200, whose
    #: caches hold as much: too soon with 32 MiB, worth it with 64)
    most_open_bytes: int = number(48 << 20, least=0)
    #: work-items of a group that sorts a tile by regions (H200, among 256, 512 and 1,024)
    region_group: int = number(256, least=1)
    #: points of the tile for each of them (H200)
    region_batch: int = number(8, least=1)
    #: runs of the tile that such a group tells apart, at most
    most_regions: int = number(256, least=1, most=65535)
