//! Registering, logging in, fleets, the gate of registration, the end of an account.

use futures_util::FutureExt as _;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::on_every_store;

use super::pilot::{Pilot, register};
use super::world::{follower, leader, send, send_as, until};
use crate::support::Running;

fn code(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["error"]["code"].as_str().unwrap_or_default())
}

async fn post(running: &Running, path: &str, body: Value) -> (u16, Value) {
    send(running, Method::POST, path, body).await
}

on_every_store!(players_register_and_log_in, |store| {
    let running = leader(&store, &[]).await;
    let wren = register(&running, "wren").await;
    let ship = running.json(&format!("/api/ships/{}", wren.ship)).await;
    assert_eq!((&ship["player_id"], &ship["name"]), (&json!(wren.id), &json!("wren")));
    let login = |name: &str, password: &str| {
        post(&running, "/api/auth/login", json!({ "username": name, "password": password })).boxed()
    };
    let (status, back) = login("wren", "long enough").await;
    assert_eq!(
        (status, &back["is_admin"], &back["ship_id"]),
        (200, &json!(false), &json!(wren.ship))
    );
    assert_eq!(code(&login("wren", "wrong enough").await), (401, "E005"));
    assert_eq!(code(&login("nobody", "long enough").await), (401, "E005"));
    let new = |name: &str, password: &str| {
        post(&running, "/api/auth/register", json!({ "username": name, "password": password }))
            .boxed()
    };
    assert_eq!(code(&new("wren", "long enough").await), (409, "E010"));
    assert_eq!(code(&new("w", "long enough").await), (400, "E011"));
    assert_eq!(code(&new("wren two", "long enough").await), (400, "E011"));
    assert_eq!(code(&new("wren2", "short").await), (400, "E012"));
    assert_eq!(
        code(&post(&running, "/api/auth/login", json!({ "username": "wren" })).await),
        (400, "bad_json")
    );
    // The gate.
    let closed = post(&running, "/api/admin/registrations/disable", json!(null)).await;
    assert_eq!(closed.1["open"], false);
    assert_eq!(code(&new("robin", "long enough").await), (403, "E020"));
    assert_eq!(login("wren", "long enough").await.0, 200, "login is never closed");
    assert_eq!(running.json("/api/status").await["registration_open"], false);
    post(&running, "/api/admin/registrations", json!({ "open": true })).await;
    assert_eq!(new("robin", "long enough").await.0, 201);
});

on_every_store!(tries_are_counted_per_address, |store| {
    let running = leader(&store, &[("galaxy.logins_per_minute", "3")]).await;
    let body = json!({ "username": "nobody", "password": "long enough" });
    for _ in 0..3 {
        assert_eq!(post(&running, "/api/auth/login", body.clone()).await.0, 401);
    }
    let refused = running.ask(Method::POST, "/api/auth/login").json(&body).send().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(refused.json::<Value>().await.unwrap()["error"]["code"], "E004");
});

on_every_store!(wrong_passwords_are_counted_per_account_by_all_servers, |store| {
    let leading = leader(&store, &[]).await;
    let second = follower(&store, &[("galaxy.wrong_passwords_per_minute", "5")]).await;
    register(&leading, "wren").await;
    register(&leading, "robin").await;
    let login = async |server: &Running, name: &str, password: &str| {
        let body = json!({ "username": name, "password": password });
        server.ask(Method::POST, "/api/auth/login").json(&body).send().await.unwrap()
    };
    // The right one costs no try.
    for _ in 0..6 {
        assert_eq!(login(&leading, "wren", "long enough").await.status(), 200);
    }
    for at in 0..5 {
        let server = if at % 2 == 0 { &leading } else { &second };
        assert_eq!(login(server, "wren", "wrong enough").await.status(), 401);
    }
    for server in [&leading, &second] {
        let refused = login(server, "wren", "long enough").await;
        assert_eq!(refused.status(), 429, "whoever it is: a guess cannot be told from the owner");
        let wait = refused.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        assert_eq!(refused.json::<Value>().await.unwrap()["error"]["code"], "E004");
    }
    assert_eq!(
        login(&leading, "robin", "long enough").await.status(),
        200,
        "others are not kept out"
    );
    // Names that nobody has are counted alike, so that the limit tells nothing; and many at once do not pass together.
    let all = (0..12).map(|_| login(&leading, "nobody", "wrong enough"));
    let all = futures_util::future::join_all(all).await;
    assert_eq!(all.iter().filter(|answer| answer.status() == 401).count(), 5);
    let kept = format!("{:?}", leading.store(&["KEYS", "wk:tries:*"]).await);
    assert!(kept.contains("wk:tries:") && !kept.contains("wren"), "{kept}");
});

on_every_store!(logging_out_ends_the_token_and_its_sockets, |store| {
    let running = leader(&store, &[]).await;
    let mut wren = register(&running, "wren").await;
    let phone = wren.clone();
    let body = json!({ "username": "wren", "password": "long enough" });
    let desk = post(&running, "/api/auth/login", body).await.1;
    wren.token = desk["token"].as_str().unwrap().to_owned();
    let (mut gone, _) = Pilot::fly(&running, &phone).await;
    let (mut stays, _) = Pilot::fly(&running, &wren).await;
    let ask = async |token: &str, method: Method, path: &str| {
        send_as(&running, Some(token), method, path, json!(null)).await.0
    };
    assert_eq!(ask(&phone.token, Method::POST, "/api/auth/logout").await, 204);
    assert_eq!(ask(&phone.token, Method::GET, "/api/fleet").await, 401);
    assert_eq!(ask(&phone.token, Method::POST, "/api/auth/logout").await, 401);
    assert_eq!(gone.ended().await, Some(4001));
    assert_eq!(ask(&wren.token, Method::GET, "/api/fleet").await, 200);
    stays.say(json!({ "type": "ping" })).await;
    stays.wait("pong").await;
});

on_every_store!(a_new_password_ends_every_other_login_and_socket, |store| {
    let running = leader(&store, &[]).await;
    let wren = register(&running, "wren").await;
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    let change = async |token: &str, old: &str, new: &str| {
        let body = json!({ "old_password": old, "new_password": new });
        send_as(&running, Some(token), Method::PUT, "/api/auth/password", body).await
    };
    let wrong = change(&wren.token, "wrong enough", "even longer").await;
    assert_eq!((code(&wrong), &wrong.1["error"]["field"]), ((401, "E005"), &json!("old_password")));
    let short = change(&wren.token, "long enough", "short").await;
    assert_eq!((code(&short), &short.1["error"]["field"]), ((400, "E012"), &json!("new_password")));
    let (status, made) = change(&wren.token, "long enough", "even longer").await;
    assert_eq!(status, 200, "{made}");
    assert_eq!(code(&change(&wren.token, "even longer", "another one").await), (401, "E006"));
    assert_eq!(pilot.ended().await, Some(4001));
    let mut back = wren.clone();
    back.token = made["token"].as_str().unwrap().to_owned();
    let (_pilot, welcome) = Pilot::fly(&running, &back).await;
    assert_eq!(welcome["player_id"], json!(wren.id));
    let login = |password: &str| {
        post(&running, "/api/auth/login", json!({ "username": "wren", "password": password }))
            .boxed()
    };
    assert_eq!(login("long enough").await.0, 401);
    assert_eq!(login("even longer").await.0, 200);
});

on_every_store!(a_fleet_grows_and_is_flown, |store| {
    let running = leader(&store, &[]).await;
    let (wren, robin) = (register(&running, "wren").await, register(&running, "robin").await);
    let token = Some(wren.token.as_str());
    let add = async |name: &str, class: Option<&str>| {
        let body = json!({ "name": name, "ship_class": class });
        send_as(&running, token, Method::POST, "/api/fleet", body).await
    };
    let (made, mule) = add("Mule", Some("cargo_hauler")).await;
    assert_eq!(made, 201, "{mule}");
    let mule = mule["ship_id"].as_str().unwrap().to_owned();
    assert_eq!(code(&add("Mule", None).await), (409, "E015"));
    assert_eq!(code(&add("", None).await), (400, "E017"));
    assert_eq!(code(&add("Tug", Some("tug")).await), (400, "E018"));
    for n in 0..6 {
        assert_eq!(add(&format!("Ship {n}"), None).await.0, 201);
    }
    assert_eq!(code(&add("One too many", None).await), (409, "E016"));
    let path = format!("/api/fleet/{mule}/activate");
    assert_eq!(send_as(&running, token, Method::POST, &path, json!(null)).await.0, 200);
    let foreign = format!("/api/fleet/{}/activate", robin.ship);
    assert_eq!(
        code(&send_as(&running, token, Method::POST, &foreign, json!(null)).await),
        (404, "E014")
    );
    let (_, fleet) = send_as(&running, token, Method::GET, "/api/fleet", json!(null)).await;
    assert_eq!(
        (fleet["items"].as_array().unwrap().len(), &fleet["active_ship_id"]),
        (8, &json!(mule))
    );
    let rename = |ship: &str, name: &str| {
        let (path, body) = (format!("/api/ships/{ship}"), json!({ "name": name }));
        let running = &running;
        async move { send_as(running, token, Method::PATCH, &path, body).await }
    };
    assert_eq!(rename(&mule, "Donkey").await.0, 200);
    assert_eq!(running.json(&format!("/api/ships/{mule}")).await["name"], "Donkey");
    assert_eq!(code(&rename(&mule, "wren").await), (409, "E015"));
    assert_eq!(code(&rename(&robin.ship, "Mine").await), (404, "E014"), "not theirs");
    // Nobody is a player without a player's token.
    for bad in [None, Some("eyJhbGciOiJIUzI1NiJ9.e30.x")] {
        assert_eq!(send_as(&running, bad, Method::GET, "/api/fleet", json!(null)).await.0, 401);
    }
});

on_every_store!(an_admin_among_the_players_administers, |store| {
    let settings = [
        ("galaxy.admin_user", "boss"),
        ("galaxy.admin_password", "long enough"),
        ("loopback_admin", "false"),
    ];
    let mut all = vec![
        ("galaxy.engine", "true"),
        ("galaxy.logins_per_minute", "0"),
        ("galaxy.tick_rate", "20"),
    ];
    all.extend(settings);
    let running = crate::support::start(store, &all).await;
    let boss =
        post(&running, "/api/auth/login", json!({ "username": "boss", "password": "long enough" }))
            .await;
    assert_eq!((boss.0, &boss.1["is_admin"]), (200, &json!(true)), "{boss:?}");
    let boss = boss.1["token"].as_str().unwrap();
    let ask = async |token: Option<&str>, method, path: &str| {
        send_as(&running, token, method, path, json!(null)).await
    };
    assert_eq!(
        ask(Some(boss), Method::POST, "/api/admin/game/init").await.0 / 100,
        if running.app.store().status().kind == kernel::Kind::Embedded { 4 } else { 2 }
    );
    // Nobody is registered without a ship, so there is a world first.
    let wren = post(
        &running,
        "/api/auth/register",
        json!({ "username": "wren", "password": "long enough" }),
    )
    .await;
    assert_eq!(wren.0, 201, "{wren:?}");
    let wren = wren.1["token"].as_str().unwrap();
    assert_eq!(ask(Some(boss), Method::POST, "/api/admin/game/pause").await.0, 200);
    assert_eq!(
        code(&ask(Some(wren), Method::POST, "/api/admin/game/resume").await),
        (403, "forbidden")
    );
    assert_eq!(ask(None, Method::POST, "/api/admin/game/resume").await.0, 401);
    assert_eq!(ask(Some(boss), Method::GET, "/api/keys").await.0, 401, "only the game is theirs");
    assert_eq!(ask(Some(wren), Method::GET, "/api/ships").await.0, 200);
    let event = running.store(&["XREVRANGE", "galaxy:admin", "+", "-", "COUNT", "1"]).await;
    assert!(format!("{event:?}").contains("boss"), "{event:?}");
});

on_every_store!(a_deleted_player_is_gone_from_everywhere, |store| {
    let running = leader(&store, &[]).await;
    let wren = register(&running, "wren").await;
    let (mut pilot, _) = Pilot::fly(&running, &wren).await;
    let players =
        until(&running, "/api/admin/players", |page| page["items"][0]["online"] == true).await;
    assert_eq!(players["items"][0]["username"], "wren");
    let path = format!("/api/admin/players/{}", wren.id);
    assert_eq!(running.json(&path).await["ships"][0]["ship_id"], wren.ship);
    assert_eq!(send(&running, Method::DELETE, &path, json!(null)).await.0, 204);
    assert_eq!(pilot.ended().await, Some(1008));
    assert_eq!(code(&send(&running, Method::DELETE, &path, json!(null)).await), (404, "E013"));
    assert_eq!(code(&send(&running, Method::GET, &path, json!(null)).await), (404, "E013"));
    until(&running, "/api/status", |status| status["online"] == 0).await;
    assert_eq!(running.status(&format!("/api/ships/{}", wren.ship)).await, 404);
    for key in [
        format!("player:{}:ships", wren.id),
        format!("player:{}:active_ship", wren.id),
        format!("ship:{}", wren.ship),
    ] {
        assert_eq!(running.store(&["EXISTS", &key]).await, kernel::Value::Int(0), "{key}");
    }
    let token = Some(wren.token.as_str());
    assert_eq!(
        code(&send_as(&running, token, Method::GET, "/api/fleet", json!(null)).await),
        (401, "E006")
    );
});
