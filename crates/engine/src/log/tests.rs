//! Tests of the log on disks that fail and machines that lose their power.

mod disk;
mod power;
