//! The messages of a pilot's socket: those a client may send, and how errors are spelled.

use galaxy::Order;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::reply::Refusal;
use crate::socket::Utf8Bytes;

/// A message of a client.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ClientMessage {
    Auth {
        token: String,
    },
    Ping {},
    Control {
        thrust_level: Option<f64>,
        rotation_input: Option<Input>,
        translation_input: Option<Input>,
    },
    Attitude {
        mode: String,
        target_id: Option<String>,
        target_type: Option<String>,
    },
    AttitudeHold {
        enabled: bool,
    },
    Service {
        service: String,
        station_id: Option<Uuid>,
        ship_class: Option<String>,
    },
    Maneuver {
        maneuver: serde_json::Value,
    },
    Abort {},
    SwitchShip {
        ship_id: Uuid,
    },
    Rename {
        name: String,
    },
    View {
        rate: Option<f64>,
        ships: Option<usize>,
    },
}

/// Three inputs of −1 to 1, as a list, by axis, or by the words of a pilot.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Input {
    List([f64; 3]),
    Axes { x: f64, y: f64, z: f64 },
    Turns { pitch: f64, yaw: f64, roll: f64 },
}

impl Input {
    fn list(&self) -> [f64; 3] {
        match *self {
            Input::List(list) => list,
            Input::Axes { x, y, z } => [x, y, z],
            Input::Turns { pitch, yaw, roll } => [pitch, yaw, roll],
        }
    }
}

impl ClientMessage {
    /// Reads a text, or says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<ClientMessage, String> {
        serde_json::from_str(text).map_err(|error| {
            let error = error.to_string();
            format!(
                "not a message of the protocol: {}",
                error.chars().take(200).collect::<String>()
            )
        })
    }

    /// The type.
    pub(super) fn word(&self) -> &'static str {
        match self {
            ClientMessage::Auth { .. } => "auth",
            ClientMessage::Ping {} => "ping",
            ClientMessage::Control { .. } => "control",
            ClientMessage::Attitude { .. } => "attitude",
            ClientMessage::AttitudeHold { .. } => "attitude_hold",
            ClientMessage::Service { .. } => "service",
            ClientMessage::Maneuver { .. } => "maneuver",
            ClientMessage::Abort {} => "abort",
            ClientMessage::SwitchShip { .. } => "switch_ship",
            ClientMessage::Rename { .. } => "rename",
            ClientMessage::View { .. } => "view",
        }
    }

    /// The engine's order, where it is one.
    pub(super) fn order(self) -> Result<Order, String> {
        Ok(match self {
            ClientMessage::Control { thrust_level, rotation_input, translation_input } => {
                Order::Control {
                    thrust_level,
                    rotation_input: rotation_input.as_ref().map(Input::list),
                    translation_input: translation_input.as_ref().map(Input::list),
                }
            }
            ClientMessage::Attitude { mode, target_id, target_type } => {
                Order::Attitude { mode, target_id, target_type }
            }
            ClientMessage::AttitudeHold { enabled } => Order::AttitudeHold { enabled },
            ClientMessage::Service { service, station_id, ship_class } => match service.as_str() {
                "dock" => Order::Dock { station_id },
                "undock" => Order::Undock,
                "refuel" => Order::Refuel,
                "reset" => Order::Reset { ship_class },
                _ => return Err("service is dock, undock, refuel or reset".to_owned()),
            },
            ClientMessage::Maneuver { maneuver } => Order::Maneuver { maneuver },
            ClientMessage::Abort {} => Order::Abort,
            other => return Err(format!("{} is not an order", other.word())),
        })
    }
}

/// An `error` as it is sent.
pub(super) fn error(refusal: &Refusal, request: Option<&str>) -> Utf8Bytes {
    let mut message = json!({
        "type": "error", "code": refusal.def.code, "message": refusal.message,
    });
    if let Some(field) = &refusal.field {
        message["field"] = field.as_str().into();
    }
    if let Some(request) = request {
        message["request"] = request.into();
    }
    if let Some(seconds) = refusal.retry_after_s {
        message["retry_after"] = seconds.into();
    }
    message.to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_in_three_spellings() {
        for input in
            [r"[1, 0, -0.5]", r#"{"x":1,"y":0,"z":-0.5}"#, r#"{"pitch":1,"yaw":0,"roll":-0.5}"#]
        {
            let text = format!(r#"{{"type":"control","rotation_input":{input}}}"#);
            let Order::Control { rotation_input, .. } =
                ClientMessage::read(&text).unwrap().order().unwrap()
            else {
                panic!("{input}");
            };
            assert_eq!(rotation_input, Some([1.0, 0.0, -0.5]));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for bad in [
            "",
            "{}",
            "[]",
            "null",
            "\"ping\"",
            r#"{"type":"fly"}"#,
            r#"{"type":"control","thrust_level":"1"}"#,
            r#"{"type":"control","thrust_level":NaN}"#,
            r#"{"type":"control","rotation_input":[1,2]}"#,
            r#"{"type":"control","thrust_level":1e999}"#,
            r#"{"type":"switch_ship","ship_id":"x"}"#,
            r#"{"type":"attitude"}"#,
            r#"{"type":"view","ships":-1}"#,
        ] {
            assert!(ClientMessage::read(bad).is_err(), "{bad}");
        }
        assert!(
            ClientMessage::read(r#"{"type":"service","service":"sell"}"#).unwrap().order().is_err()
        );
        assert_eq!(ClientMessage::read(r#"{"type":"ping"}"#), Ok(ClientMessage::Ping {}));
    }
}
