// Phrases du serveur, en français. Mêmes clés que saidhealth.en.js, tenues par un test.
export default {
  'said.loop.jobs sampler': 'mesures des tâches',
  'said.loop.jobs progress': 'avancement des tâches',
  'said.loop.jobs scheduler': 'planificateur des tâches',
  'said.loop.jobs demo': 'démo des tâches',
  'said.loop.rooms bus': 'bus des salons',
  'said.loop.rooms deadlines': 'échéances des salons',
  'said.loop.rooms presence': 'présence dans les salons',
  'said.loop.rooms upkeep': 'entretien des salons',
  'said.loop.monster timers': 'minuteries des monstres',
  'said.loop.monster commands': 'commandes des monstres',
  'said.loop.monster moves': 'mouvements des monstres',
  'said.loop.monster catalogue': 'catalogue des monstres',
  'said.loop.monsters of the demo field': 'monstres du terrain de démo',
  'said.loop.reactor timers': 'minuteries des réacteurs',
  'said.loop.reactor commands': 'commandes des réacteurs',
  'said.loop.reactor catalogue': 'catalogue des réacteurs',
  'said.loop.reactors of the demo field': 'réacteurs du terrain de démo',
  'said.loop.galaxy engine': 'moteur de la galaxie',
  'said.loop.galaxy frames': 'images de la galaxie',
  'said.loop.galaxy bus': 'bus de la galaxie',
  'said.loop.galaxy switches': 'interrupteurs de la galaxie',
  'said.loop.galaxy notices': 'avis de la galaxie',
  'said.loop.galaxy presence': 'présence dans la galaxie',
  'said.loop.galaxy complete': 'vérification de la galaxie',
  'said.loop.galaxy demo': 'démo de la galaxie',
  'said.setting.admin_token': 'un jeton d’admin qui existe sans être stocké',
  'said.setting.backup.directory': 'répertoire de ces sauvegardes, créé s’il manque',
  'said.setting.backup.every_s':
    'secondes d’une sauvegarde à la suivante, faite par un des serveurs qui partagent la base ; 0 n’en fait aucune',
  'said.setting.backup.keep': 'sauvegardes gardées dans le répertoire, les plus récentes ; 0 les garde toutes',
  'said.setting.backup.key': 'clé qui chiffre les sauvegardes, 32 caractères ou plus ; vide ne chiffre pas',
  'said.setting.data': 'répertoire du moteur embarqué ; vide, c’est le répertoire de données de l’utilisateur',
  'said.setting.demo': 'le petit monde de démonstration ; auto le met avec le moteur embarqué seulement',
  'said.setting.galaxy.admin_password': 'mot de passe de cet admin',
  'said.setting.galaxy.admin_user': 'premier admin parmi les joueurs, créé au premier démarrage',
  'said.setting.galaxy.database_url':
    'PostgreSQL pour comptes et instantanés, comme postgres://user:password@host/name ; vide, c’est un fichier SQLite',
  'said.setting.galaxy.engine': 'si ce serveur peut faire avancer le monde ; de tous les serveurs, un seul le fait',
  'said.setting.galaxy.epoch': 'quand un monde neuf commence : maintenant, ou à J2000 sans synchronisation',
  'said.setting.galaxy.gateway':
    'si ce serveur a des joueurs sur ses connexions ; non pour un moteur dont l’utilisateur Redis ne peut pas dire qui est en ligne',
  'said.setting.galaxy.logins_per_minute':
    'essais de connexion ou d’inscription d’une adresse, comptés par tous les serveurs ; 0, sans limite',
  'said.setting.galaxy.messages_per_second': 'messages d’une connexion, avec des pointes du double ; 0, sans limite',
  'said.setting.galaxy.restore':
    'que faire quand la base a perdu le monde : auto remet le dernier instantané, wait le laisse à un opérateur ; own est auto avec le moteur embarqué et wait ailleurs',
  'said.setting.galaxy.sockets_per_address': 'connexions d’une adresse ; 0, sans limite',
  'said.setting.galaxy.sockets_per_player': 'connexions d’un joueur ; 0, sans limite',
  'said.setting.galaxy.spawn_altitude': 'mètres au-dessus de son rayon moyen où ils apparaissent',
  'said.setting.galaxy.spawn_body': 'corps autour duquel tournent les vaisseaux neufs',
  'said.setting.galaxy.tick_rate':
    'pas par seconde d’un monde neuf ; vide, c’est 1, et 10 dans le monde de démonstration',
  'said.setting.galaxy.wrong_passwords_per_minute':
    'mots de passe faux pour un compte, d’où qu’ils viennent, comptés par tous les serveurs ; 0, sans limite',
  'said.setting.http': 'adresse du tableau de bord, de l’API et des connexions',
  'said.setting.jobs.batch_bytes': 'plus grand corps de POST /api/jobs:batch',
  'said.setting.jobs.cron_catchup':
    'ce que deviennent les déclenchements manqués sans planificateur : aucun, un pour tous, ou tous (les 100 derniers)',
  'said.setting.jobs.cron_failed':
    'ce qui signale un déclenchement récurrent qui a échoué pour de bon : une lettre morte, ou une alarme jusqu’au prochain qui réussit ; il continue dans tous les cas',
  'said.setting.jobs.cron_instances': 'si chaque déclenchement d’une tâche récurrente est une tâche à part',
  'said.setting.jobs.dlq_max': 'lettres mortes gardées, les plus récentes ; 0 garde toutes',
  'said.setting.jobs.events': 'si ce qui arrive est écrit dans le flux d’événements',
  'said.setting.jobs.fair_high': 'si les tâches de priorité 7 et plus passent dans l’ordre d’arrivée',
  'said.setting.jobs.lock_ttl_s': 'durée d’un verrou s’il n’est pas renouvelé',
  'said.setting.jobs.max_recoveries':
    'combien de fois une tâche est reprise à des ouvriers morts avant de mourir elle-même',
  'said.setting.jobs.max_waiting': 'tâches en attente au-delà desquelles l’envoi répond 429 ; 0, sans limite',
  'said.setting.jobs.namespaces':
    'espaces de files de tâches dans cette base ; le premier vaut quand aucun n’est nommé',
  'said.setting.jobs.payload_bytes': 'plus grande charge d’une tâche',
  'said.setting.jobs.promote_honours_priority':
    'si les tâches différées de priorité 7 et plus passent devant à leur heure',
  'said.setting.jobs.redact': 'noms de membres JSON qui ne se montrent à personne, comme password,token',
  'said.setting.jobs.result_bytes': 'plus grand résultat ; un plus grand est stocké comme null',
  'said.setting.jobs.result_ttl_s':
    'durée de garde d’un résultat ; avec 0 une tâche réussie n’en laisse pas, et la cause d’un échec reste un jour',
  'said.setting.jobs.retention_s': 'durée de garde d’une tâche finie ; 0 supprime aussitôt, -1 garde toujours',
  'said.setting.jobs.rotate_unclaimable_s':
    'secondes après lesquelles les tâches qu’aucun ouvrier en vie ne peut prendre vont de la tête à la queue de la file ; 0, jamais',
  'said.setting.jobs.scan_limit': 'tâches en attente qu’une prise regarde',
  'said.setting.jobs.scheduler': 'si ce serveur s’occupe de cron, des différées et des reprises de ses espaces',
  'said.setting.jobs.starvation_guard':
    'après tant de tâches de priorité 7 et plus, un ouvrier de ce serveur en prend une derrière elles, 10 d’habitude ; 0, jamais',
  'said.setting.jwt_key': 'clé qui signe les jetons des joueurs, 32 octets ou plus ; vide, une est créée',
  'said.setting.layout': 'écriture des clés ; Cluster demande tagged',
  'said.setting.limits.anonymous_per_second':
    'autres requêtes d’une adresse sans connexion, avec des pointes du double ; 0, sans limite',
  'said.setting.limits.body_bytes': 'plus grand corps de requête',
  'said.setting.limits.connections': 'connexions ouvertes ; 0, sans limite',
  'said.setting.limits.connections_per_address': 'connexions ouvertes d’une adresse ; 0, sans limite',
  'said.setting.limits.header_read_ms': 'temps le plus long pour envoyer l’en-tête d’une requête',
  'said.setting.limits.logins_per_minute': 'essais de connexion d’une adresse ; 0, sans limite',
  'said.setting.limits.request_ms': 'temps le plus long d’une requête',
  'said.setting.limits.requests_per_second':
    'requêtes d’un compte, et d’une adresse pour les fichiers des pages, avec des pointes du double ; 0, sans limite',
  'said.setting.limits.socket_idle_s': 'secondes de silence après lesquelles une connexion est fermée',
  'said.setting.limits.socket_message_bytes': 'plus grand message d’une connexion',
  'said.setting.limits.socket_queue_bytes': 'octets qui peuvent attendre un lecteur lent',
  'said.setting.limits.socket_queue_messages': 'messages qui peuvent attendre un lecteur lent',
  'said.setting.limits.socket_recheck_s': 'secondes après lesquelles le jeton d’une connexion est regardé de nouveau',
  'said.setting.limits.sockets_per_account': 'connexions d’un compte ; 0, sans limite',
  'said.setting.limits.sockets_per_address': 'connexions d’une adresse ; 0, sans limite',
  'said.setting.limits.write_stall_ms':
    'temps le plus long pendant lequel un client peut ne rien prendre de ce qui lui est envoyé, par HTTP, connexions et RESP',
  'said.setting.log': 'ce qui va au journal : un niveau, ou des filtres comme `info,server=debug`',
  'said.setting.log_format': 'text ou json ; auto est text dans un terminal et json ailleurs',
  'said.setting.loopback_admin': 'si les requêtes directes de cette machine sont admin sans connexion',
  'said.setting.modules': 'modules qui tournent : all, none, ou des noms séparés par des virgules',
  'said.setting.monsters.aggro': 'si un coup retourne un monstre contre qui le contrôle',
  'said.setting.monsters.catalogue':
    'fichier ou répertoire des modèles de monstres, relu quand il change ; vide, le jeu livré',
  'said.setting.monsters.decay': 'si les dégâts sans suite s’effacent peu à peu ; sinon chaque coup est gardé',
  'said.setting.monsters.skills':
    'fichier ou répertoire des talents de monstres, relu quand il change ; vide, le jeu livré',
  'said.setting.origins': 'autres origines qui peuvent utiliser l’API depuis un navigateur',
  'said.setting.reactors.catalogue':
    'fichier ou répertoire des modèles de réacteurs, relu quand il change ; vide, le jeu livré',
  'said.setting.reactors.hit_policy':
    'si un coup sans réaction qui convienne détruit (upstream) ou ne fait rien (strict)',
  'said.setting.reactors.item_delay_ms':
    'combien de temps un objet reste sur un réacteur avant d’être pris ; aussi ITEM_REACTOR_ACTIVATION_DELAY_MS',
  'said.setting.reactors.persist_rule':
    'quelles fins laissent un réacteur debout : selon la réaction qui convenait, ou selon l’une quelconque des siennes',
  'said.setting.redis': 'Redis ou Valkey à utiliser ; vide, le moteur embarqué',
  'said.setting.resp': 'adresse où le moteur embarqué parle RESP ; vide, nulle part',
  'said.setting.resp_password': 'mot de passe que les clients RESP doivent donner',
  'said.setting.resp_tls_cert': 'fichier du certificat, avec sa chaîne, pour RESP ; vide, RESP en clair',
  'said.setting.resp_tls_client_ca':
    'fichier d’autorités dont l’une doit avoir signé le certificat d’un client RESP ; vide n’en demande pas',
  'said.setting.resp_tls_key': 'fichier de la clé privée de ce certificat',
  'said.setting.resp_users': 'fichier des utilisateurs des clients RESP, avec les lignes d’un fichier ACL de Redis',
  'said.setting.rooms.avatar_chars': 'caractères d’une photo en adresse de données, au plus',
  'said.setting.rooms.avatars_per_minute': 'photos d’un appareil ; 0, sans limite',
  'said.setting.rooms.body_bytes': 'plus grand corps qui crée un salon',
  'said.setting.rooms.created_per_hour': 'salons créés d’une adresse ; 0, sans limite',
  'said.setting.rooms.frame_bytes': 'plus grand message d’un téléphone ou d’un maître',
  'said.setting.rooms.items': 'éléments d’un salon, au plus',
  'said.setting.rooms.items_per_round': 'éléments d’une manche, au plus',
  'said.setting.rooms.messages_per_second': 'messages d’une connexion, avec des pointes du double ; 0, sans limite',
  'said.setting.rooms.party':
    'adresse propre à la fête, qui ne sert que le jeu ; `auto` en choisit une du réseau local, vide, aucune',
  'said.setting.rooms.players': 'joueurs d’un salon, au plus, ajoutés à la main compris',
  'said.setting.rooms.public_url':
    'où les téléphones trouvent ce serveur, comme https://party.example ; vide, l’adresse que le maître utilise',
  'said.setting.rooms.queue_bytes': 'octets qui peuvent attendre un téléphone lent',
  'said.setting.rooms.queue_messages': 'messages qui peuvent attendre un téléphone lent',
  'said.setting.rooms.renames_per_minute': 'nouveaux noms d’un appareil ; 0, sans limite',
  'said.setting.rooms.rounds': 'manches d’un salon, au plus',
  'said.setting.rooms.senders': 'expéditeurs d’un salon, au plus',
  'said.setting.rooms.sockets_per_address':
    'connexions d’une adresse, où toute une fête peut être assise ; 0, sans limite',
  'said.setting.rooms.sockets_per_minute': 'nouvelles connexions d’une adresse ; 0, sans limite',
  'said.setting.rooms.sockets_per_room': 'connexions d’un salon sur un serveur ; 0, sans limite',
  'said.setting.rooms.unknown_codes_per_minute': 'codes sans salon d’une adresse ; 0, sans limite',
  'said.setting.rooms.url_chars': 'caractères de l’adresse d’un reel, au plus',
  'said.setting.rooms.wrong_keys_per_socket':
    'clés de maître fausses sur une connexion avant qu’elle soit fermée ; 0, sans limite',
  'said.setting.script_memory_bytes':
    'mémoire que les scripts du moteur embarqué peuvent prendre ; celui qui en veut plus finit en erreur ; 0, sans limite',
  'said.setting.session_hours': 'durée d’une connexion au tableau de bord sans usage',
  'said.setting.stop_wait_s': 'combien de temps un arrêt attend les requêtes en cours',
  'said.setting.tls_cert': 'fichier du certificat, avec sa chaîne, pour HTTP ; vide, HTTP en clair',
  'said.setting.tls_key': 'fichier de la clé privée de ce certificat',
  'said.setting.trusted_proxies': 'adresses de mandataires dont X-Forwarded-For est cru',
  'said.setting.worlds.on_stop':
    'ce que le dernier serveur qui s’arrête fait des réacteurs et des monstres, que leurs services disent volatils',
};
