/** What failed at a model server, for those who run the gateway, in German. */

export const providers = {
  'provider.some_server': 'mit OpenAIs API',
  'provider.the_server': 'mit OpenAIs API',
  'provider.start_ollama': 'starte ihn mit `ollama serve`',
  'provider.start_server': 'starte den Server',
  'provider.closed': 'Die Verbindungen zum Modellserver ({server}) wurden geschlossen.',
  'provider.broke_midway': 'Die Verbindung zum Modellserver ({server}) brach mitten in der Antwort ab.',
  'provider.not_http': '{host} spricht kein HTTP: {setting} muss einen Modellserver nennen ({server}).',
  'provider.no_answer':
    'Unter {host} antwortet kein Modellserver ({code}): {start}, oder setz {setting} auf die Adresse, unter der er läuft.',
  'provider.connection_failed': 'keine Verbindung',
  'provider.unreadable':
    'Der Modellserver ({server}) unter {host} hat eine Antwort geschickt, die sich nicht lesen lässt.',
  'provider.slow':
    'Der Modellserver ({server}) unter {host} hat nicht innerhalb von {seconds} s geantwortet: sieh nach dem Server, den {setting} nennt.',
  'provider.queue_full':
    'Auf den Modellserver ({server}) warten schon {most} Aufrufe: versuch es später noch einmal, oder erhöhe {setting}.',
  'provider.stopped': 'Der Aufruf des Modells wurde angehalten.',
  'provider.stopped_waiting': 'Der Aufruf des Modells wurde angehalten, während er wartete.',

  'provider.prompt_too_long': 'Das passt nicht in das Fenster von „{model}“: {reason}',
  'provider.little_memory':
    'Der Rechner des Modellservers unter {host} hat zu wenig Speicher für „{model}“: {reason}',
  'provider.refused': '{host} hat den Aufruf abgelehnt ({status}): {reason}',
  'provider.answered': 'Der Modellserver unter {host} ({setting}) hat mit {status} geantwortet: {reason}',
  'provider.answered_later':
    'Der Modellserver unter {host} ({setting}) hat mit {status} geantwortet: {reason} Er bittet darum, in {time} wiederzukommen.',
  'provider.key_refused':
    '{host} hat den Schlüssel abgelehnt ({status}): setz {setting}. Der Server sagt: {reason}',
  'provider.access_refused':
    '{host} hat den Zugang abgelehnt ({status}): prüf {setting} und den Schlüssel dazu, oder führ dort `ollama signin` aus. Der Server sagt: {reason}',
  'provider.not_signed_in':
    'Ollama unter {host} ist für seine Cloud-Modelle nicht angemeldet ({status}): führ dort `ollama signin` aus, oder öffne {url}.',
  'provider.access_forbidden': 'Ollama unter {host} hat den Zugang abgelehnt ({status}): {reason}',
  'provider.not_openai':
    '{host} hat mit {status} geantwortet: {setting} muss einen Server mit OpenAIs API nennen, meist mit einer Adresse, die auf /v1 endet.',
  'provider.not_ollama':
    '{host} hat mit {status} und nicht wie Ollama geantwortet: {setting} muss einen Ollama-Server nennen.',
  'provider.openai_broke_off': 'Der Modellserver unter {host} hat seine Antwort abgebrochen: {reason}',
  'provider.broke_off': 'Der Modellserver hat seine Antwort abgebrochen ({reason}).',
  'provider.ollama_broke_off': 'Ollama hat seine Antwort abgebrochen: {reason}',
  'provider.ollama_failed': 'Ollama hat seine Antwort abgebrochen ({reason}).',

  'provider.no_model':
    'Der Server unter {host} hat kein Modell „{model}“: lade es dort, oder nenn ein anderes in MODEL.',
  'provider.no_model_has':
    'Der Server unter {host} hat kein Modell „{model}“: lade es dort, oder setz MODEL auf eins, das er hat: {models}.',
  'provider.ollama_no_model':
    'Ollama unter {host} hat kein Modell „{model}“: hol es mit `ollama pull {model}`, oder nenn ein anderes.',
  'provider.no_models':
    'Der Modellserver hat noch kein Modell: hol eins (bei Ollama: ollama pull llama3.2), oder setz MODEL.',
  'provider.no_chat_models':
    'Keins der Modelle des Servers kann chatten: hol eins, das es kann (bei Ollama: ollama pull llama3.2), oder setz MODEL.',
  'provider.unconfigured': 'Ein Anbieter „{provider}“ ist nicht eingerichtet.',
  'provider.needs_setting':
    '„{name}“ ist ein Modell des Anbieters „{provider}“, und der ist nicht eingerichtet: setz {needs}, oder schreib providers.{provider} in config.json.',
  'provider.needs_ollama': 'OLLAMA_HOST auf seine Adresse',
  'provider.needs_openai': 'OPENAI_BASE_URL auf seine Adresse (oder OPENAI_API_KEY für OpenAI selbst)',
  'provider.not_configured':
    '„{name}“ nennt den Anbieter „{provider}“, der nicht eingerichtet ist: schreib providers.{provider} in config.json, oder nimm einen von {known}. Ein Modell von {usual} mit einem Schrägstrich im Namen heißt {usual}/{provider}/….',

  'provider.silent_first':
    'Das Modell hat nicht innerhalb von {seconds} s zu antworten begonnen (LLM_STREAM_FIRST_CHUNK_TIMEOUT).',
  'provider.silent': 'Das Modell ist {seconds} s lang verstummt (LLM_STREAM_CHUNK_TIMEOUT).',
  'provider.not_json': 'Der Modellserver hat eine Antwort geschickt, die kein JSON ist.',
  'provider.bad_line': 'Der Modellserver hat eine Zeile geschickt, die kein JSON-Objekt ist: {line}',
  'provider.no_event': 'Der Modellserver hat eine Zeile geschickt, die kein Server-sent Event ist.',
  'provider.data_not_json': 'Der Modellserver hat Daten geschickt, die kein JSON sind.',
  'provider.no_object': 'Der Modellserver hat Daten geschickt, die kein JSON-Objekt sind.',
  'provider.not_an_answer': 'Der Modellserver hat JSON geschickt, das keine Antwort eines Modells ist.',
  'provider.too_much': 'Der Modellserver hat mehr als {bytes} Bytes geschickt.',
  'provider.long_line': 'Der Modellserver hat eine Zeile von mehr als {bytes} Bytes geschickt.',
  'provider.ended_early': 'Der Modellserver hat seine Antwort beendet, bevor sie ganz war.',
  'provider.no_call': 'Das Modell hat kein Werkzeug aufgerufen, obwohl es musste.',
  'provider.echo_too_long':
    'Was der Modell-Server von seiner Antwort zurückhaben will (Signaturen, verschlüsselte Gedanken), hat mehr als {most} Bytes.',
  'provider.calls_too_long': 'Die Aufrufe von Werkzeugen des Modells haben mehr als {most} Zeichen.',
};
