CREATE TABLE "key_record" (
	"device" text NOT NULL,
	"key" text NOT NULL,
	"value" "bytea" NOT NULL,
	CONSTRAINT "key_record_device_key_pk" PRIMARY KEY("device","key")
);
--> statement-breakpoint
CREATE TABLE "key_store" (
	"device" text PRIMARY KEY NOT NULL,
	"version" bigint NOT NULL
);
