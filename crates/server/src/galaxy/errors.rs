//! Refusals of the galaxy as HTTP answers and socket errors: numbers where the protocol has them, words elsewhere.

use galaxy::{OrderError, OrderRefusal};

use crate::reply::{self, ErrorDef, Refusal};

pub(crate) use galaxy::refusal::*;

/// The refusal of a code that travelled.
pub(crate) fn refusal(told: OrderRefusal) -> Refusal {
    let OrderRefusal { code, message, field } = told;
    let known = REFUSALS.iter().find(|def| def.code == code);
    let def = known.map_or_else(
        || match code.as_str() {
            "forbidden" => reply::FORBIDDEN,
            "not_found" if message.contains("no such ship") => NO_SHIP.into(),
            "not_found" => reply::NOT_FOUND,
            "conflict" => reply::CONFLICT,
            _ => reply::BAD_FIELD,
        },
        |def| ErrorDef::from(*def),
    );
    let refusal = Refusal::new(def, message);
    match field {
        Some(field) => refusal.field(field),
        None => refusal,
    }
}

/// The same for an order that was refused here.
#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
pub(crate) fn refused(why: OrderError) -> Refusal {
    refusal(OrderRefusal::from(&why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_refused_by_number_or_by_word() {
        let code = |why| refused(why).def.code;
        assert_eq!(code(OrderError::NotYours), "forbidden");
        assert_eq!(code(OrderError::Missing("ship")), "E014");
        assert_eq!(code(OrderError::Conflict("no")), "conflict");
        assert_eq!(code(OrderError::Docking(galaxy::DockError::TooFar(9.0))), "E032");
        let bad = refused(OrderError::Invalid { field: "tick_rate", reason: "must be".into() });
        assert_eq!((bad.def.code, bad.field.as_deref()), ("bad_field", Some("tick_rate")));
    }
}
