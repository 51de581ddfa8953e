//! What is resident: partitions and blocks in memory, how they come there, and how tasks read them.
pub(crate) mod loading;
pub(crate) mod lookup;
pub(crate) mod partition;
pub(crate) mod reads;
pub(crate) mod residency;
