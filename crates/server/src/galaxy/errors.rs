//! Refusals of the galaxy as HTTP answers and socket errors: numbers where the protocol has them, words elsewhere.

use galaxy::{OrderError, Told};

use crate::reply::{self, Refusal};

reply::errors! {
    pub(crate) table;
    NO_WORLD = "no_world", 404, "there is no world in this store yet; make one with `worldkeep galaxy init`";
    WORLD_LOST = "world_lost", 503, "the store has lost the world that its database knows, or belongs to another database; the message says what to do";
    TOO_OFTEN = "E004", 429, "too many tries to log in or register from this address, or too many wrong passwords for this account; wait `Retry-After` seconds";
    BAD_LOGIN = "E005", 401, "the username or the password is wrong";
    BAD_JWT = "E006", 401, "the player's token is not valid or has ended; log in again";
    NAME_TAKEN = "E010", 409, "the username is taken; choose another";
    BAD_USERNAME = "E011", 400, "a username has 3 to 20 letters, digits or underscores";
    BAD_PASSWORD = "E012", 400, "a password has at least 8 characters";
    NO_PLAYER = "E013", 404, "there is no such player";
    NO_SHIP = "E014", 404, "there is no such ship, or it is not yours";
    SHIP_NAME_TAKEN = "E015", 409, "you have a ship of that name already";
    FLEET_FULL = "E016", 409, "a player has at most 8 ships";
    BAD_SHIP_NAME = "E017", 400, "a ship's name has 1 to 32 characters";
    BAD_SHIP_CLASS = "E018", 400, "ship_class is not a class";
    BAD_PLAYERS_CURSOR = "E019", 400, "the cursor is not one that a list of players gave";
    REGISTRATION_CLOSED = "E020", 403, "registration is closed; ask whoever runs the game";
    ALREADY_DOCKED = "E030", 409, "the ship is docked already; undock first";
    NOT_DOCKED = "E031", 409, "the ship is not docked";
    TOO_FAR = "E032", 409, "the station is too far away; come within 500 m";
    TOO_FAST = "E033", 409, "the ship is too fast for the station; slow down to 5 m/s";
    NO_STATION = "E034", 404, "there is no such station";
    NO_TRANSIT = "E040", 409, "jump gates do not carry ships to other systems yet";
}

/// The refusal of a code that travelled.
pub(crate) fn refusal(told: Told) -> Refusal {
    let Told { code, message, field } = told;
    let known = ERRORS.iter().find(|def| def.code == code).copied();
    let def = known.unwrap_or(match code.as_str() {
        "forbidden" => reply::FORBIDDEN,
        "not_found" if message.contains("no such ship") => NO_SHIP,
        "not_found" => reply::NOT_FOUND,
        "conflict" => reply::CONFLICT,
        _ => reply::BAD_FIELD,
    });
    let refusal = Refusal::new(def, message);
    match field {
        Some(field) => refusal.field(field),
        None => refusal,
    }
}

/// The same for an order that was refused here.
#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
pub(crate) fn refused(why: OrderError) -> Refusal {
    refusal(Told::from(&why))
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
