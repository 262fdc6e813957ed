//! Refusals of the reactors. A cooldown or a taken spot is no error but an answer of `create`.

use kernel::{Fault, RefusalDef, RefusalKind, Refuses};

/// The refusals that a caller may hear, with what to do.
pub mod refusal {
    kernel::refusals! {
        NO_REACTOR = "reactor_not_found", Missing, "this tenant has no such reactor, or it stands in another field";
        CLASSIFICATION_REQUIRED = "classification_required", Invalid, "a reactor needs a classification, and 0 is none";
        UNKNOWN_CLASSIFICATION = "unknown_classification", Invalid, "the catalogue has no such template; send `data`, or add one to `reactors.catalogue`";
        ON_COOLDOWN = "on_cooldown", Conflict, "a reactor of this kind was destroyed on this spot not long ago; `meta.remainingMs` says how long to wait";
        SPOT_TAKEN = "spot_taken", Conflict, "a reactor of this kind stands on this spot; `meta.reactorId` says which";
        ID_SPACE_BUSY = "id_space_busy", Busy, "64 ids in a row belong to living reactors; repeat it";
        BAD_CATALOGUE = "bad_catalogue", Unavailable, "the files of `reactors.catalogue` cannot be used; the message says where they are wrong";
    }
}

/// Why a verb did nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReactorError {
    /// No such reactor, or one of another tenant.
    #[error("unable to locate reactor {0}")]
    NotFound(u32),
    /// Zero is no classification.
    #[error("classification is required")]
    ClassificationRequired,
    /// Neither data nor a template.
    #[error("there is no template for classification {0}: send data, or add one to the catalogue")]
    UnknownClassification(u32),
    /// Sixty-four ids in a row are live.
    #[error("no free id was found near the counter; try again")]
    IdSpaceBusy,
    /// The command this was the answer to has been answered by another server.
    #[error("this command has been answered already")]
    Answered,
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl ReactorError {
    /// The stable word of a refusal; `None` for a fault.
    pub fn refusal(&self) -> Option<&'static str> {
        self.def().map(|def| def.code)
    }
}

impl Refuses for ReactorError {
    fn def(&self) -> Option<RefusalDef> {
        Some(match self {
            ReactorError::NotFound(_) => refusal::NO_REACTOR,
            ReactorError::ClassificationRequired => refusal::CLASSIFICATION_REQUIRED,
            ReactorError::UnknownClassification(_) => refusal::UNKNOWN_CLASSIFICATION,
            ReactorError::IdSpaceBusy => refusal::ID_SPACE_BUSY,
            // Nobody waits for the answer to a command.
            ReactorError::Answered => {
                RefusalDef { code: "answered", kind: RefusalKind::Conflict, says: "" }
            }
            ReactorError::Fault(_) => return None,
        })
    }

    fn field(&self) -> Option<&str> {
        match self {
            ReactorError::ClassificationRequired | ReactorError::UnknownClassification(_) => {
                Some("classification")
            }
            _ => None,
        }
    }
}
