//! The scripts of the module, one per file. All other changes are steps of the kernel.

kernel::scripts! {
    /// Makes a reactor.
    pub(crate) CREATE = "create";
    /// Gives up claims of a field whose reactor is gone.
    pub(crate) FORGET = "forget";
}
