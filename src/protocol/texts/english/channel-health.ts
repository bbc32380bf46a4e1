/** What is wrong with a channel, and what helps: the details of its health. */

export const channelHealth = {
  'health.needs': 'needs {needs}',
  'health.both': '{first} {second}',
  'health.queued': 'waits to receive; another node may be receiving now',
  'health.broke': 'The connection to {network} broke; connecting again.',
  'health.calls': '{network} does not answer calls of its {api}; trying again.',
  'health.missed': {
    one: 'Messages missed in one chat could not all be read: see {event} in the log.',
    other: 'Messages missed in {count} chats could not all be read: see {event} in the log.',
  },
  'health.unreachable': '{network} cannot be reached; the call is tried again.',
  'health.answered': '{network} answered with status {status}; the call is tried again.',
  'health.connecting': 'Connecting to {network}.',
  'health.portal_token':
    '{network} refused the bot token: copy the one from the Developer Portal (your application, Bot, Reset Token) into {variable} and restart.',
  'health.no_content':
    '{network} refuses the bot the texts of messages that do not mention it: mentions, direct messages and slash commands are answered. Switch on "Message Content Intent" in the Developer Portal (your application, Bot, Privileged Gateway Intents) and restart.',
  'health.more_shards':
    '{network} demands more shards than it asked for (4011): restart Parley, so that it asks again how many it needs.',
  'health.bad_shard': '{network} refused the shard (4010): update Parley.',
  'health.bad_version': '{network} refused the API version (4012): update Parley.',
  'health.bad_intents': '{network} refused the intents (4013): update Parley.',
  'health.unseen': 'The bot cannot see this {network} channel: give it the View Channel permission.',
  'health.forbidden':
    'The bot is not allowed to do this on {network}: give it the Send Messages permission in this channel.',
  'health.archived': 'The {network} thread is archived: unarchive it to write there.',
  'health.locked': 'The {network} thread is locked: unlock it to write there.',
  'health.unwritable': {
    one: 'In one channel the bot could not write within the last hour. {why}',
    other: 'In {count} channels the bot could not write within the last hour. {why}',
  },
  'health.sessions_short': 'The last sessions with {network} ended soon; the next begins in {seconds} s.',
  'health.sessions_used_up':
    'Too many sessions were begun today, and {network} resets the bot token past {total}; connecting again at {until}.',
  'health.app_page_token':
    '{network} refused the bot token: copy the Bot User OAuth Token (your app at {page}, OAuth & Permissions) into {variable} and restart.',
  'health.app_level_token':
    '{network} refused the app token: make an App-Level Token with the scope connections:write (your app at {page}, Basic Information), set {variable} to it and restart.',
  'health.socket_off':
    'Socket Mode is switched off for the {network} app: switch it on (your app at {page}, Socket Mode).',
  'health.not_opened': 'The connection to {network} could not be opened; trying again.',
  'health.no_address': '{network} named no address to connect to.',
  'health.failed': '{network} failed with {code}; the call is tried again.',
  'health.foreign': 'Something before {network} answered; the call is tried again.',
  'health.other': '{network} reports: {detail}',
  'health.refused': '{network} refused the call: {detail}',
  'health.refused_once': '{network} refused one call, but not the bot token; the call is tried again.',
  'health.at_limit': '{network} has reached one of its own limits; the call is tried again.',
  'health.no_list': '{network} answered {method} with no list.',
  'health.not_read': '{network} did not say who the bot token belongs to; asking again later.',
  'health.scope':
    'The bot lacks the scope {scope} on {network}: add it (your app at {page}, OAuth & Permissions) and install the app again.',
  'health.scopes':
    'The bot lacks a scope on {network}: compare those it has with the documentation (your app at {page}, OAuth & Permissions), and install the app again.',
  'health.wait': '{network} asks to wait {ms} ms.',
  'health.login_token':
    'The {network} homeserver refused the access token: log the bot in again, set {variable} to the new token, and restart.',
  'health.server_calls': 'The {network} homeserver ({variable}) does not answer; trying again.',
  'health.server_sync': 'No answer to a sync from the {network} homeserver; trying again.',
  'health.chat_token':
    '{network} refuses the bot token: put the one @BotFather shows for your bot into {variable}, then restart. Parley keeps asking {network}, in case it accepts this one after all.',
  'health.said': '{network} answered {method} with "{description}".',
  'health.conflict':
    '{refusal} Something else is receiving with this bot token: stop it, or use a separate bot.',
  'health.webhook_address': '{refusal} Correct {setting}.',
  'health.not_reached':
    '{network} cannot be reached for {method} ({why}): check the network, and {variable} if it is set.',
  'health.webhook':
    '{network} cannot post updates to {setting}: "{why}". It holds {waiting} back and tries again.',
  'health.http.in_use': 'Port {port} on {host} is in use by another program; set PORT to a free one.',
  'health.http.no_permission': 'No permission to listen on port {port}; set PORT to one above 1023.',
  'health.http.not_here': '{host} is not an address of this machine; set HOST to one, or to 127.0.0.1.',
  'health.http.unknown_host':
    '{host} cannot be resolved; set HOST to an address of this machine, or to 127.0.0.1.',
  'health.http.cannot_listen': 'Cannot listen on {host}:{port} (HOST, PORT): {code}.',
} as const;
