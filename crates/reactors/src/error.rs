//! Refusals of the reactors. A cooldown or a taken spot is no error but an answer of `create`.

use kernel::Fault;

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
        Some(match self {
            ReactorError::NotFound(_) => "reactor_not_found",
            ReactorError::ClassificationRequired => "classification_required",
            ReactorError::UnknownClassification(_) => "unknown_classification",
            ReactorError::IdSpaceBusy => "id_space_busy",
            ReactorError::Answered => "answered",
            ReactorError::Fault(_) => return None,
        })
    }
}
