/** What became of a message, as `/why` tells it, in German. */

export const why = {
  'why.joined': 'Die Nachricht kam zu {into}, deren Antwort für beide gilt.',
  'why.joined_before': 'der Runde davor',
  'why.joined_turn': 'Runde {turn}',
  'why.dead': 'Sie wurde nach {attempts} und {crashes} aufgegeben{because}. {replay}',
  'why.attempts': { one: '{number} fehlgeschlagenen Versuch', other: '{number} fehlgeschlagenen Versuchen' },
  'why.crashes': { one: '{number} Absturz', other: '{number} Abstürzen' },
  'why.replay': '„{parley} dead-letters“ zeigt sie und holt sie nach.',
  'why.silent': 'Das Modell hat nur mit dem stillen Token geantwortet, also wurde nichts gesendet.',
  'why.failed': 'Sie ist mit {code} gescheitert{because}.',
  'why.stopped': 'Sie wurde angehalten, während sie lief.',
  'why.dropped': 'Ein Stopp hat sie aus der Warteschlange genommen.',
  'why.interrupted': 'Die nächste Nachricht des Chats hat sie unterbrochen.',
  'why.answered': 'Sie wurde nach {time} beantwortet.',
  'why.answered_cut_off': 'Sie wurde nach {time} beantwortet; die Antwort hat ihre größte Länge erreicht.',
  'why.answered_filtered':
    'Sie wurde nach {time} beantwortet; das Modell oder der Filter seines Servers hat die Antwort verweigert.',
  'why.answered_max_iterations':
    'Sie wurde nach {time} beantwortet; sie hat die größte Zahl von Schritten erreicht (maxIterations).',
  'why.delivery_dead':
    'Die Antwort ist geschrieben, aber ihre Zustellung wurde aufgegeben{because}. {replay}',
  'why.delivery_behind': {
    one: 'Die Antwort ist geschrieben und wartet hinter {number} anderen Nachricht an den Chat.',
    other: 'Die Antwort ist geschrieben und wartet hinter {number} anderen Nachrichten an den Chat.',
  },
  'why.delivery_refused':
    'Die Antwort ist geschrieben, aber die Plattform nimmt sie nicht an{because}; versucht wurde es bisher {time} lang, der nächste Versuch kommt in {next}.',
  'why.delivery_tried':
    'Die Antwort ist geschrieben, aber die Plattform nimmt sie nicht an{because}; versucht wurde es bisher {time} lang, und gerade wieder.',
  'why.delivery_paused':
    'Die Antwort ist geschrieben; die Plattform hat um eine Pause gebeten, der nächste Versuch kommt in {next}.',
  'why.delivery_waits': 'Die Antwort ist geschrieben und wartet auf ein Gateway, das sie zustellt.',
  'why.delivery_runs': 'Die Antwort wird gerade zugestellt, {time} nach der Nachricht.',
  'why.client': 'Sie wartet darauf, dass ihr Client die Ergebnisse der Werkzeuge schickt, die er ausführt.',
  'why.decided': 'Über ihre Rückfrage wurde entschieden, und sie geht gleich weiter.',
  'why.approval': 'Sie wartet seit {time} darauf, dass jemand dem Werkzeug {tool} zustimmt.',
  'why.approval_left':
    'Sie wartet seit {time} darauf, dass jemand dem Werkzeug {tool} zustimmt, höchstens noch {left}.',
  'why.no_gateway': 'Sie wartet: Kein Gateway läuft.',
  'why.behind': {
    one: 'Sie wartet hinter {number} früheren Nachricht ihres Gesprächs{at}.',
    other: 'Sie wartet hinter {number} früheren Nachrichten ihres Gesprächs{at}.',
  },
  'why.behind_head': '; Runde {turn} an der Spitze ist: {state}',
  'why.collecting': 'Sie wartet {time} auf weitere Nachrichten (Warteschlange: collect).',
  'why.retried_in':
    'Sie wird in {time} noch einmal versucht (nach {attempts} und {crashes} des Gateways){because}.',
  'why.retried_soon':
    'Sie wird noch einmal versucht, sobald ein Gateway Platz hat (nach {attempts} und {crashes} des Gateways){because}.',
  'why.no_room': {
    one: 'Sie ist dran, aber kein Gateway hat Platz für sie: Auf {number} Gateway laufen {turns} (turns.concurrency).',
    other:
      'Sie ist dran, aber kein Gateway hat Platz für sie: Auf {number} Gateways laufen {turns} (turns.concurrency).',
  },
  'why.turns': { one: '{number} Runde', other: '{number} Runden' },
  'why.node': 'Knoten {node} arbeitet seit {time} daran.',
  'why.tool': 'Das Werkzeug {tool} läuft seit {time}.',
  'why.model': 'Sie wartet seit {time} auf das Modell {model}; Tokens sieht man, wenn der Aufruf endet.',
  'why.last': 'Die letzte Runde: {why}',
  'why.all': 'Alles dazu: {parley} trace {turn}',
  'why.none': 'Noch keine Nachricht dieses Chats wurde zu einer Runde.',
  'why.owners_only': 'Nur ein Eigentümer kann sehen, was aus den Nachrichten eines Chats wurde.',
  'why.refusal':
    'Eine Nachricht von {sender} in {place} um {moment} wurde nicht zu einer Runde ({code}): {why}.',
  'why.refusals': {
    one: '{number} Nachricht, von {sender} in {place} um {moment}, wurde nicht zur Runde ({code}): {why}.',
    other:
      '{number} Nachrichten, die letzte von {sender} in {place} um {moment}, wurden nicht zu Runden ({code}): {why}.',
  },
  'why.somebody': 'jemand',
  'why.refused_denied': 'Wer sie schrieb oder der Chat hat keinen Zugang ({parley} pair)',
  'why.refused_pairing':
    'Wer sie schrieb, hat noch keinen Zugang und bekam einen Code ({parley} pair approve)',
  'why.refused_forbidden': 'eine Regel verbietet sie',
  'why.refused_rate_limited':
    'wer sie schrieb, schrieb zu schnell (limits.messagesPerMinute) oder hat die Tokens eines Tages verbraucht',
  'why.refused_queue_full': 'es warten schon zu viele Nachrichten des Gesprächs ({/stop} verwirft sie)',
  'why.refused_too_large': 'sie ist zu lang',
  'why.refused_empty': 'sie hat weder Text noch Datei',
  'why.refused_tools_pending': 'ihr Gespräch wartet auf Ergebnisse der Werkzeuge seines Clients',
  'why.refused_planning_off': 'sie bittet um einen Plan, wo die Planung aus ist',
  'why.refused_not_mentioned': 'sie nannte den Bot nicht, was eine Gruppe muss (access.<channel>.groups)',
  'why.refused_ignored': 'ihr Kanal gibt Nachrichten dieser Art nicht weiter',
};
