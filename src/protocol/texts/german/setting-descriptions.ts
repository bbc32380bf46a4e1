/** What the settings of `config.json` mean in German, by their paths, with a star for the names of channels and of entries; those of a channel stand in its folder. */
import type { SettingKey } from '../say.ts';

export const GERMAN_SETTINGS: Readonly<Record<SettingKey, string>> = {
  'setting.access.*.dm':
    'Fremde in privaten Chats: `pairing` (ein Code, der bestätigt wird), `allowlist` (Schweigen), `open` (alle)',
  'setting.access.*.allow': 'Ids von Personen, die keinen Code brauchen',
  'setting.access.*.groups':
    '`{"<Id des Chats>": {"mention": true, "observe": false}}`: Gruppen, in denen der Bot antwortet, mit allen ihren Threads',
  'setting.access.*.groups.*.mention':
    'nur antworten, wenn der Bot erwähnt oder ihm geantwortet wird; `false` = auf jede Nachricht',
  'setting.access.*.groups.*.observe':
    'die letzten Nachrichten ohne Erwähnung für die nächste Antwort behalten; `/observe` eines Eigentümers geht vor',
  'setting.access.*.guilds': 'Ids von Servern: allen darin wird in allen ihren Chats geantwortet',
  'setting.access.*.roles':
    'Ids von Rollen: allen, die eine haben, wird in allen Chats ihres Servers geantwortet',
  'setting.access.owners.*':
    'Ids der Eigentümer; wer von ihnen den Bot in einer unbekannten Gruppe erwähnt, erfährt den Befehl, der sie erlaubt',
  'setting.$schema':
    '`./config.schema.json`, das das Gateway neben die Datei schreibt: Editoren vervollständigen und prüfen damit',
  'setting.providers': 'Modellserver mit ihren Namen; ihre Modelle heißen `<Name>/<Modell>`',
  'setting.providers.*.kind': 'Art des Servers: `ollama`, oder `openai` für jeden, der OpenAIs API spricht',
  'setting.providers.*.baseUrl':
    'Adresse des Servers; bei `openai` die, an der seine API beginnt, meist mit `/v1` am Ende',
  'setting.providers.*.apiKeyEnv':
    'Variable der Umgebung mit dem Schlüssel des Servers; der Schlüssel selbst steht nie in der Datei',
  'setting.providers.*.concurrency':
    'gleichzeitige Aufrufe des Servers; weitere warten, gerecht auf die Chats verteilt',
  'setting.providers.*.stream':
    'nur bei `openai`: `false` für einen Server, der nicht streamen kann; Antworten kommen dann am Stück',
  'setting.providers.*.vision':
    'nur bei `openai`: `false`, wenn seine Modelle keine Bilder sehen; sonst werden Bilder geschickt, und ein Modell, das sie ablehnt, wird ohne sie gefragt',
  'setting.tools.enabled':
    'Werkzeuge des Standardprofils; ohne Angabe `list_dir`, `read_file`, `write_file`, `edit_file`, `web_fetch`, `memory`, `cron`, `spawn_agent`, `message`, und `web_search`, wo eine Suche eingerichtet ist',
  'setting.tools.exec':
    'gibt dem Werkzeug `exec` seine Sandbox (bubblewrap, kein Netz, nur der Ordner des Chats)',
  'setting.tools.ports':
    'Ports, die `web_fetch` außer 80 und 443 erreichen darf; die Adressen müssen in jedem Fall öffentlich sein',
  'setting.search.kind': 'der Dienst hinter `web_search`: `brave`, `searxng`, `tavily`, `ollama`',
  'setting.search.baseUrl':
    'seine Adresse, auch eine private; nötig bei `searxng`, sonst ist es die eigene des Dienstes',
  'setting.search.apiKeyEnv':
    'die Variable der Umgebung mit seinem Schlüssel; ohne Angabe je nach Dienst `BRAVE_API_KEY`, `TAVILY_API_KEY`, `OLLAMA_API_KEY`, bei `searxng` keine',
  'setting.approvals.expireMinutes':
    'wie lange ein gefährlicher Aufruf eines Werkzeugs auf eine Person wartet; ohne Antwort wird er nicht ausgeführt',
  'setting.schedules.timeZone':
    'Zeitzone wie `Europe/Berlin`, in der Cron-Zeilen und Zeiten ohne eigene Zeitzone gelesen werden; ohne Angabe die des Rechners',
  'setting.schedules.perSession': 'Zeitpläne, die ein Chat haben darf',
  'setting.schedules.perUser': 'Zeitpläne, die eine Person oder ein Token haben darf, alle Chats zusammen',
  'setting.schedules.total': 'Zeitpläne aller zusammen; das letzte Zehntel ist für Eigentümer',
  'setting.limits.tokensPerDay':
    'Tokens der Modelle, die eine Person oder ein HTTP-Token am Tag (UTC) verbrauchen darf; für Eigentümer gilt das nicht; ohne Angabe für niemanden',
  'setting.limits.messagesPerMinute':
    'Nachrichten, die eine Person in der Minute schreiben darf; für Eigentümer und Aufrufe über HTTP gilt das nicht',
  'setting.limits.messagesAtOnce': 'wie viele davon auf einmal',
  'setting.language':
    'Sprache, in der das Gateway selbst mit Menschen spricht: `auto` = wie es die App der Person sagt, sonst `en`, `de` oder eine der Dateien in `languages/`; `/language` der Person geht vor',
  'setting.bindings': 'welches Profil und welches Modell wo antworten',
  'setting.bindings.*.channel': 'Name des Kanals',
  'setting.bindings.*.chat': 'ein Chat darin, mit allen seinen Threads',
  'setting.bindings.*.user': 'eine Person, in diesem Chat oder in allen',
  'setting.bindings.*.profile': 'das Profil, das antwortet',
  'setting.bindings.*.model': 'sein Modell; ohne Angabe das des Profils',
  'setting.mcp.servers':
    'MCP-Server mit ihren Namen, höchstens 16; ein Name hat `a-z`, `0-9` und einzelne `-` oder `_`, und mit ihm beginnen die Namen der Werkzeuge',
  'setting.mcp.servers.*.command': 'ein Programm dieses Rechners, das der Server ist; oder `url`',
  'setting.mcp.servers.*.args':
    'seine Argumente; `${VARIABLE}` steht für eine Variable aus der Umgebung des Gateways, hier und in `env` und `headers`',
  'setting.mcp.servers.*.env':
    'seine Variablen; von denen des Gateways bekommt er `PATH`, `HOME`, `TMPDIR`, `LANG`, `LC_ALL` und `TZ`',
  'setting.mcp.servers.*.cwd': 'der Ordner, in dem er läuft; ohne Angabe `mcp/<Name>` in `GATEWAY_HOME`',
  'setting.mcp.servers.*.url': 'Adresse eines Servers über HTTP, jede Adresse; oder `command`',
  'setting.mcp.servers.*.headers':
    'Header jeder Anfrage an ihn, etwa `{"Authorization": "Bearer ${NOTES_TOKEN}"}`',
  'setting.mcp.servers.*.trusted': 'du bürgst für das, was er über seine Werkzeuge sagt',
  'setting.mcp.servers.*.tools':
    'nur diese Werkzeuge werden genommen, mit den Namen, die der Server ihnen gibt; ohne Angabe alle',
  'setting.mcp.servers.*.timeoutMs': 'längste Dauer eines Aufrufs, in Millisekunden',
  'setting.media.maxFileMb':
    'größte Datei einer Nachricht, in Megabyte; eine größere wird mit einem Satz abgelehnt',
  'setting.media.maxFilesPerMessage':
    'Dateien einer Nachricht, die gelesen werden; die übrigen werden abgelehnt',
  'setting.media.maxMbPerPerson': 'was die Dateien einer Person zusammen belegen dürfen, in Megabyte',
  'setting.media.keepDays': 'Tage, nach denen die Dateien von Nachrichten gelöscht werden',
  'setting.heartbeat.everyMinutes':
    'Abstand der regelmäßigen Runden ohne Nachricht (Heartbeat), in Minuten; 0 = nie',
  'setting.heartbeat.session':
    'der Chat, in den er schreibt, `<Kanal>:<Id des Chats>`; ohne Angabe der private Chat des ersten Eigentümers',
  'setting.transcription.baseUrl':
    'ein Server mit OpenAIs API, der Sprache in Text umwandelt, bis `/audio/transcriptions`: aus Aufnahmen wird Text',
  'setting.transcription.model': 'sein Modell',
  'setting.transcription.language': 'was gesprochen wird, etwa `de`; sonst findet es der Server heraus',
  'setting.transcription.maxMinutes': 'längere Aufnahmen werden nicht angehört',
  'setting.speech.baseUrl':
    'ein Server mit OpenAIs API, der Text spricht, bis `/audio/speech`: mit `/voice on` werden Antworten auch gesprochen',
  'setting.speech.model': 'sein Modell',
  'setting.speech.voice': 'eine seiner Stimmen',
  'setting.speech.format': 'worum er gebeten wird: `opus` oder `mp3`',
  'setting.speech.apiKeyEnv': 'die Variable der Umgebung mit seinem Schlüssel',
  'setting.speech.maxChars':
    'Zeichen einer Antwort, die gesprochen werden; eine längere wird nach einem Satz abgeschnitten',
  'setting.hooks': 'Programme, die `POST /v1/hooks/<Name>` aufrufen',
  'setting.hooks.*.kind': 'wie der Absender unterschreibt; `signed` ist die Form aus docs/http-api.md',
  'setting.hooks.*.secretEnv':
    'die Variable der Umgebung mit dem Geheimnis, mit dem der Absender unterschreibt, mindestens 16 Zeichen',
  'setting.hooks.*.timestampHeader':
    'nur Grafana: seine Einstellung „Timestamp Header“; ohne sie hat eine Anfrage kein Alter',
  'setting.hooks.*.to': 'der Chat, in den er schreibt, etwa `http:ops`',
  'setting.hooks.*.task': 'was der Bot mit dem Text tut; ohne Angabe bekommt der Chat den Text selbst',
  'setting.hooks.*.text':
    'der Text, mit Feldern der Anfrage: `{{repository.full_name}}`; ohne Angabe ihr ganzer Inhalt',
  'setting.webhooks': 'Programme, denen gesagt wird, was geschieht, durch einen unterschriebenen POST',
  'setting.webhooks.*.url': 'wohin Ereignisse geschickt werden',
  'setting.webhooks.*.events':
    'welche: `message_received`, `turn_ended`, `approval_needed`, `approval_decided`',
  'setting.webhooks.*.secretEnv':
    'die Variable der Umgebung mit dem Geheimnis, mit dem unterschrieben wird, mindestens 16 Zeichen',
  'setting.webhooks.*.sessions': 'nur diese Chats; `http:team-*` = alle, die so beginnen',
  'setting.webhooks.*.content': 'auch die Texte von Nachrichten und Antworten schicken',
  'setting.webhooks.*.private':
    'die Adresse darf auf diesem Rechner oder in einem privaten Netz liegen und jeden Port haben',
  'setting.afterTurn.compression':
    'ein langes Gespräch nach einer Runde zusammenfassen; `false` = nur vor einer Runde, die zu lang ist',
  'setting.afterTurn.facts':
    'wenn ein Gespräch zusammengefasst wurde, bleibende Fakten über die Person im Gedächtnis behalten',
  'setting.afterTurn.title':
    'jedem Chat nach seiner ersten Antwort einen Titel geben, mit einem kleinen Aufruf seines Modells',
  'setting.memory.embeddingModel':
    'Modell, das Texte in Vektoren umwandelt, etwa `nomic-embed-text` oder `openai/text-embedding-3-small`: Gemerktes wird dann auch nach seiner Bedeutung gefunden; ohne Angabe nach Wörtern',
  'setting.proxySignIn':
    'meldet auf der Seite die Personen an, die ein Anmelde-Proxy hereingelassen hat; ohne Angabe aus',
  'setting.proxySignIn.userHeader':
    'Header, in dem der Proxy die Person nennt; er wird nur auf Verbindungen von `channels.http.trustedProxies` gelesen, und der Proxy muss ersetzen, was Clients darin schicken',
  'setting.proxySignIn.users':
    'für jede Person der Name des Tokens, dessen Rechte sie hat: `{"ada@example.org": "admin"}`',
  'setting.proxySignIn.default':
    'Name des Tokens für alle anderen Personen des Proxys; ohne Angabe werden sie abgewiesen',
  'setting.retention.messagesDays':
    'Tage, nach denen Nachrichten gelöscht werden, mit allem, was Runden hinterließen, und Chats, die seither niemand benutzt hat, mit ihren Dateien; angeheftete Chats bleiben; ohne Angabe nie',
  'setting.retention.tracesDays':
    'Tage, für die der Befehl `trace` und `/why` wissen, was in einer Runde geschah',
  'setting.backup.daily':
    'einmal am Tag eine [Sicherung](operating.md#daily-backups) in den Ordner `backups` von `GATEWAY_HOME` schreiben; ohne Angabe nur mit der eingebetteten Datenbank',
  'setting.backup.keep': 'wie viele tägliche Sicherungen bleiben; ältere werden gelöscht',
  'setting.prices': 'was Modelle kosten, für Abläufe und Verbrauch',
  'setting.prices.currency': 'Code der Währung aller Preise, etwa `USD` oder `EUR`',
  'setting.prices.models':
    'Preise mit den Namen der Modelle, wie `/model` sie nennt, etwa `openai/gpt-5`; Aufrufe anderer Modelle zeigen keine Kosten',
  'setting.prices.models.*.input': 'Preis von einer Million Tokens, die das Modell liest',
  'setting.prices.models.*.output': 'Preis von einer Million Tokens, die das Modell schreibt',
  'setting.persona': 'wer der Bot ist: der erste Teil seines System-Prompts',
  'setting.turns.concurrency': 'gleichzeitige Runden dieses Gateways',
  'setting.turns.mode': 'wie Plänen in neuen Chats gefolgt wird: `planner`, `teacher` oder `agentic`',
  'setting.turns.queueMode':
    'was in neuen Chats mit Nachrichten geschieht, die während einer Antwort kommen: `queue`, `steer`, `interrupt` oder `collect`',
};
