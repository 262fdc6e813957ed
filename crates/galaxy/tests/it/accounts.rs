//! Accounts on every database: names, passwords, tokens, fleets, and what is refused.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use galaxy::{
    AccountError, Accounts, BadToken, Database, DatabaseAddress, Player, PlayerPage, ShipRow,
};
use kernel::{Clock as _, FakeClock, Refuses as _};
use testkit::Postgres;
use uuid::Uuid;

/// Runs the body on SQLite in memory, on a SQLite file, and on PostgreSQL where it is wanted.
pub(crate) fn on_every_database<R: Future<Output = ()>>(body: impl Fn(DatabaseAddress) -> R) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(body(DatabaseAddress::Memory));
    let dir = tempfile::tempdir().unwrap();
    runtime.block_on(body(DatabaseAddress::choose(None, Some(dir.path()))));
    if Postgres::is_wanted() {
        let lent = Postgres::lend();
        runtime
            .block_on(body(DatabaseAddress::choose(Some(lent.url()), Some(Path::new("/nowhere")))));
    }
}

const START_MS: u64 = 1_800_000_000_000;

async fn open(place: DatabaseAddress) -> (Accounts, Arc<FakeClock>) {
    let clock = Arc::new(FakeClock::at(START_MS));
    let accounts = Accounts::open(place, Arc::clone(&clock) as _, None).await.unwrap();
    (accounts, clock)
}

fn code<T: std::fmt::Debug>(outcome: Result<T, AccountError>) -> &'static str {
    outcome.unwrap_err().def().map(|def| def.code).unwrap()
}

#[test]
fn a_player_registers_and_logs_in() {
    on_every_database(|place| async {
        let (accounts, _) = open(place).await;
        let (ann, ship) = accounts.register("ann_1", "correct horse").await.unwrap();
        assert_eq!((ship.name.as_str(), ship.ship_class.as_str()), ("ann_1", "fast_frigate"));
        assert_eq!(accounts.ships_of(ann.id).await.unwrap(), [ship]);
        assert_eq!(accounts.login("ann_1", "correct horse").await.unwrap(), ann);
        assert_eq!(accounts.player(ann.id).await.unwrap().unwrap(), ann);
        assert_eq!(code(accounts.register("ann_1", "another one").await), "E010");
        assert_eq!(code(accounts.login("ann_1", "correct hors").await), "E005");
        assert_eq!(code(accounts.login("ann_2", "correct horse").await), "E005");
        assert_eq!(code(accounts.login("", "correct horse").await), "E005");
        let endless = "x".repeat(1_000_000);
        assert_eq!(code(accounts.login("ann_1", &endless).await), "E005");
        for name in ["an", "", "a name", "näme", &"a".repeat(21), "a\0bc", "robert'); --"] {
            assert_eq!(code(accounts.register(name, "correct horse").await), "E011", "{name}");
        }
        for password in ["short", "1234567", &endless] {
            assert_eq!(code(accounts.register("ben", password).await), "E012");
        }
        assert_eq!(accounts.players(&PlayerPage::default()).await.unwrap().items, [ann]);
    });
}

#[test]
fn players_who_are_taken_in_come_with_a_token_and_have_no_password() {
    on_every_database(|place| async {
        let (accounts, _) = open(place).await;
        let (ann, first) = accounts.register("ann", "correct horse").await.unwrap();
        let new = |n: u128, username: &str| {
            let player =
                Player { id: Uuid::from_u128(n), username: username.into(), ..ann.clone() };
            let ship =
                ShipRow { id: Uuid::from_u128(n + 100), player_id: player.id, ..first.clone() };
            (player, ship)
        };
        let both = [new(1, "ben"), new(2, "cat")];
        accounts.adopt(&both).await.unwrap();
        for (player, ship) in &both {
            assert_eq!(accounts.whose(&accounts.token(player)).await.unwrap(), *player);
            assert_eq!(accounts.ships_of(player.id).await.unwrap(), std::slice::from_ref(ship));
            for word in ["none", "", "correct horse"] {
                assert_eq!(code(accounts.login(&player.username, word).await), "E005");
            }
        }
        assert_eq!(code(accounts.adopt(&[new(3, "dan"), new(4, "ann")]).await), "E010");
        assert_eq!(accounts.player(Uuid::from_u128(3)).await.unwrap(), None, "all or none");
        assert_eq!(code(accounts.adopt(&[new(5, "a b")]).await), "E011");
    });
}

#[test]
fn of_many_at_once_only_one_gets_the_name() {
    on_every_database(|place| async {
        let (accounts, _) = open(place).await;
        let all = (0..4).map(|_| accounts.register("ann", "correct horse"));
        let outcomes = futures_util::future::join_all(all).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        let refused = outcomes.into_iter().filter_map(Result::err);
        assert!(refused.into_iter().all(|error| error.def().map(|def| def.code) == Some("E010")));
    });
}

#[test]
fn a_token_lasts_a_day_and_dies_with_its_player() {
    on_every_database(|place| async {
        let (accounts, clock) = open(place).await;
        let (ann, _) = accounts.register("ann", "correct horse").await.unwrap();
        let token = accounts.token(&ann);
        let claims = accounts.verify(&token).unwrap();
        assert_eq!((claims.player_id, claims.exp - claims.iat), (ann.id, 86_400));
        clock.advance(Duration::from_secs(86_399));
        let (_, newer) = accounts.refresh(&token).await.unwrap();
        clock.advance(Duration::from_secs(1));
        assert_eq!(accounts.verify(&token), Err(BadToken::Expired));
        assert_eq!(code(accounts.refresh(&token).await), "E006");
        assert_eq!(accounts.whose(&newer).await.unwrap(), ann);
        accounts.delete_player(ann.id).await.unwrap();
        assert!(accounts.verify(&newer).is_ok(), "nothing says in it that she is gone");
        assert_eq!(code(accounts.whose(&newer).await), "E006");
    });
}

#[test]
fn logging_out_ends_one_login_with_all_its_tokens() {
    on_every_database(|place| async {
        let (accounts, clock) = open(place).await;
        let (ann, _) = accounts.register("ann", "correct horse").await.unwrap();
        let (phone, desk) = (accounts.token(&ann), accounts.token(&ann));
        let claims = accounts.verify(&phone).unwrap();
        clock.advance(Duration::from_hours(23));
        let (_, newer) = accounts.refresh(&phone).await.unwrap();
        assert_eq!(accounts.log_out(&newer).await.unwrap(), ann);
        for token in [&phone, &newer] {
            assert_eq!(code(accounts.whose(token).await), "E006");
            assert_eq!(code(accounts.refresh(token).await), "E006");
            assert_eq!(code(accounts.log_out(token).await), "E006", "there is nothing left to end");
        }
        assert_eq!(accounts.whose(&desk).await.unwrap(), ann, "the other login goes on");
        // A socket that was opened with the first token asks after that has expired.
        clock.advance(Duration::from_hours(2));
        assert_eq!(code(accounts.standing(&claims, &phone).await), "E006");
        // What has ended for good is forgotten with a later logout.
        clock.advance(Duration::from_hours(30));
        let last = accounts.token(&ann);
        accounts.log_out(&last).await.unwrap();
        assert!(accounts.standing(&claims, &phone).await.is_ok(), "forgotten");
        assert_eq!(code(accounts.whose(&phone).await), "E006", "but its day is over");
        assert_eq!(code(accounts.whose(&last).await), "E006");
    });
}

#[test]
fn a_new_password_ends_every_other_login() {
    on_every_database(|place| async {
        let (accounts, _) = open(place).await;
        let (ann, _) = accounts.register("ann", "correct horse").await.unwrap();
        let (ben, _) = accounts.register("ben", "correct horse").await.unwrap();
        let (old, bens) = (accounts.token(&ann), accounts.token(&ben));
        let change = async |old: &str, new: &str| accounts.change_password(&ann, old, new).await;
        assert_eq!(code(change("wrong horse", "battery staple").await), "E005");
        assert_eq!(code(change("correct horse", "short").await), "E012");
        assert!(accounts.whose(&old).await.is_ok(), "nothing has changed yet");
        // The clock stands still: the new token is of the same millisecond as the old one.
        let new = change("correct horse", "battery staple").await.unwrap();
        assert_eq!(code(accounts.whose(&old).await), "E006");
        assert_eq!(accounts.whose(&new).await.unwrap(), ann);
        assert_eq!(accounts.whose(&bens).await.unwrap(), ben);
        assert_eq!(code(accounts.login("ann", "correct horse").await), "E005");
        assert_eq!(accounts.login("ann", "battery staple").await.unwrap(), ann);
        assert!(accounts.whose(&accounts.refresh(&new).await.unwrap().1).await.is_ok());
        accounts.delete_player(ann.id).await.unwrap();
        assert_eq!(code(accounts.whose(&new).await), "E006");
    });
}

#[test]
fn of_two_new_passwords_at_once_one_wins() {
    on_every_database(|place| async {
        let (accounts, _) = open(place).await;
        let (ann, _) = accounts.register("ann", "correct horse").await.unwrap();
        let change = |new| accounts.change_password(&ann, "correct horse", new);
        let (one, two) = tokio::join!(change("battery staple"), change("another staple"));
        assert_eq!([&one, &two].iter().filter(|outcome| outcome.is_ok()).count(), 1);
        let good = if one.is_ok() { "battery staple" } else { "another staple" };
        assert_eq!(accounts.login("ann", good).await.unwrap(), ann);
    });
}

#[test]
fn the_key_stays_the_same_when_the_accounts_are_opened_again() {
    on_every_database(|place| async {
        if place == DatabaseAddress::Memory {
            return;
        }
        let (accounts, clock) = open(place.clone()).await;
        let (ann, _) = accounts.register("ann", "correct horse").await.unwrap();
        let token = accounts.token(&ann);
        // Another gateway of the same world.
        let (second, _) = open(place.clone()).await;
        assert_eq!(second.verify(&token).unwrap().player_id, ann.id);
        assert_eq!(second.login("ann", "correct horse").await.unwrap(), ann);
        let given = Some("a key of one's own, 32 bytes at least");
        let third = Accounts::open(place.clone(), Arc::clone(&clock) as _, given).await.unwrap();
        assert_eq!(third.verify(&token), Err(BadToken::Invalid));
        let short = Accounts::open(place, clock as _, Some("short")).await.err().unwrap();
        assert!(short.to_string().contains("32 bytes"), "{short}");
    });
}

#[test]
fn a_fleet_has_eight_ships_and_no_name_twice() {
    on_every_database(|place| async {
        let (accounts, _) = open(place).await;
        let (ann, first) = accounts.register("ann", "correct horse").await.unwrap();
        let (ben, _) = accounts.register("ben", "correct horse").await.unwrap();
        let second = accounts.add_ship(ann.id, " Wren ", Some("cargo_hauler")).await.unwrap();
        assert_eq!(second.name, "Wren");
        assert_eq!(code(accounts.add_ship(ann.id, "Wren", None).await), "E015");
        assert_eq!(code(accounts.add_ship(ann.id, "  ", None).await), "E017");
        assert_eq!(code(accounts.add_ship(ann.id, &"é".repeat(33), None).await), "E017");
        assert_eq!(code(accounts.add_ship(ann.id, "Owl", Some("yacht")).await), "E018");
        assert_eq!(code(accounts.add_ship(Uuid::new_v4(), "Owl", None).await), "E013");
        accounts.add_ship(ben.id, "Wren", None).await.unwrap();
        assert_eq!(
            accounts.rename_ship(ann.id, first.id, &"é".repeat(32)).await.unwrap().len(),
            64
        );
        assert_eq!(code(accounts.rename_ship(ann.id, first.id, "Wren").await), "E015");
        assert_eq!(code(accounts.rename_ship(ben.id, first.id, "Mine").await), "E014");
        let names: Vec<_> = (0..8).map(|n| format!("ship {n}")).collect();
        let more = names.iter().map(|name| accounts.add_ship(ann.id, name, None));
        let outcomes = futures_util::future::join_all(more).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 6);
        assert!(
            outcomes
                .into_iter()
                .filter_map(Result::err)
                .all(|e| e.def().map(|def| def.code) == Some("E016"))
        );
        accounts.delete_ship(ann.id, second.id).await.unwrap();
        assert_eq!(code(accounts.delete_ship(ann.id, second.id).await), "E014");
        let gone = accounts.delete_player(ann.id).await.unwrap();
        assert_eq!((gone.len(), accounts.ships_of(ann.id).await.unwrap().len()), (7, 0));
        assert_eq!(code(accounts.delete_player(ann.id).await), "E013");
    });
}

#[test]
fn players_are_listed_in_pages() {
    on_every_database(|place| async {
        let (accounts, clock) = open(place).await;
        let mut all = Vec::new();
        for n in 0..5 {
            all.push(accounts.register(&format!("player{n}"), "correct horse").await.unwrap().0);
            // Two of them in the same millisecond.
            clock.advance(Duration::from_millis(n % 2));
        }
        all.sort_by_key(|player| (player.created_at, player.id));
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = accounts.players(&PlayerPage { limit: 2, after }).await.unwrap();
            assert!(page.items.len() <= 2);
            found.extend(page.items);
            after = page.cursor;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, all);
        let bad = PlayerPage { limit: 2, after: Some("'; DROP TABLE players".to_owned()) };
        assert_eq!(code(accounts.players(&bad).await), "E019");
    });
}

#[test]
fn the_first_admin_is_made_once_and_raises_nobody() {
    on_every_database(|place| async {
        let (accounts, clock) = open(place).await;
        accounts.register("root", "correct horse").await.unwrap();
        assert_eq!(code(accounts.first_admin("root", "another horse").await), "E010");
        let admin = accounts.first_admin("chief", "another horse").await.unwrap().unwrap();
        assert!(admin.is_admin && accounts.verify(&accounts.token(&admin)).unwrap().is_admin);
        assert_eq!(accounts.first_admin("chief", "another horse").await.unwrap(), None);
        assert_eq!(accounts.first_admin("second", "another horse").await.unwrap(), None);
        assert!(!accounts.login("root", "correct horse").await.unwrap().is_admin);
        assert_eq!(clock.now_ms(), START_MS);
    });
}

#[tokio::test]
async fn a_database_that_is_not_there_says_where_it_was_looked_for() {
    let place = DatabaseAddress::Postgres("postgres://ann:hush@127.0.0.1:1/galaxy".to_owned());
    let sentence = Database::open(place).await.err().unwrap().to_string();
    assert!(sentence.contains("127.0.0.1:1/galaxy") && !sentence.contains("hush"), "{sentence}");
    let place = DatabaseAddress::File("/nowhere/at/all/galaxy.db".into());
    let sentence = Database::open(place).await.err().unwrap().to_string();
    assert!(sentence.contains("/nowhere/at/all/galaxy.db"), "{sentence}");
}
