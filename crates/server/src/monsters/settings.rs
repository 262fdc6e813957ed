//! Settings of the monsters.

use crate::settings::settings;

settings! {
    /// Settings of the monsters.
    pub struct MonstersSettings, names, "monsters." {
        catalogue: Option<String> = "",
            "file or directory of monster templates, read again when it changes; empty is the shipped set";
        skills: Option<String> = "",
            "file or directory of monster skills, read again when it changes; empty is the shipped set";
        decay: bool = "false", "whether idle damage entries shrink; off keeps every hit";
        aggro: bool = "true", "whether a hit turns a monster on its controller";
    }
}
