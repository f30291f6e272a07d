"""What cannot be undone is told by the names of this very call, and so is the way back."""

from __future__ import annotations

import pytest

from assent.analysis.languages.sql import read_sql
from lines import worst


@pytest.mark.parametrize(
    ("text", "impact"),
    [
        ("TRUNCATE a, b", "empties a, b"),
        ("TRUNCATE TABLE ONLY a, ONLY s.b RESTART IDENTITY", "empties a, s.b"),
        ("DROP TABLE IF EXISTS a, b, c CASCADE", "drops the tables a, b, c with everything in them"),
        ('DROP TABLE public."Users"', "drops the table public.Users with everything in it"),
        ("DROP TABLE [dbo].[x]", "drops the table dbo.x with everything in it"),
        ("DROP OWNED BY me, you", "drops everything that me, you owns"),
        ("ALTER TABLE x DROP COLUMN y", "drops the column y of x with everything in it"),
        ("ALTER TABLE x DROP COLUMN y, z", "drops the columns y, z of x with everything in them"),
        ("ALTER TABLE x DROP COLUMN y, ADD z int", "drops the column y of x with everything in it"),
        (
            "ALTER TABLE IF EXISTS s.x DROP COLUMN a, DROP COLUMN b",
            "drops the column a of s.x with everything in it; drops the column b of s.x with everything in it",
        ),
        (
            "DROP TABLE a; DROP TABLE b; DROP TABLE a",
            "drops the table a with everything in it; drops the table b with everything in it",
        ),
        ("select 1; delete from a; update b set c = 1", "deletes every row of a; overwrites every row of b"),
        ("DELETE x", "deletes every row of x"),
        (
            "DROP TABLE " + ", ".join(f"t{i}" for i in range(30)),
            "drops the tables " + ", ".join(f"t{i}" for i in range(20)) + ", … (30 in all) with everything in them",
        ),
    ],
)
def test_every_name_in_a_statement_is_told(text: str, impact: str) -> None:
    assert read_sql(text).impact == impact


@pytest.mark.parametrize(
    ("line", "impact"),
    [
        ("psql -h prod.example -d shop -c 'TRUNCATE x'", "empties x, in the database shop on prod.example"),
        ("psql --host=prod --dbname=shop -c 'TRUNCATE x'", "empties x, in the database shop on prod"),
        ("psql shop me -c 'TRUNCATE x' -c 'select 1' -c 'TRUNCATE y'", "empties x; empties y, in the database shop"),
        ("psql postgres://me:secret@prod/shop -c 'TRUNCATE x'", "empties x, in the database postgres://prod/shop"),
        ("psql -d 'host=prod password=secret' -c 'TRUNCATE x'", "empties x, in the database 'host=prod password='"),
        ("psql -c 'TRUNCATE \"{args}\"'", "empties {args}"),
        ("mysql -h prod shop -e 'TRUNCATE x'", "empties x, in the database shop on prod"),
        ("mysql -h prod -e 'TRUNCATE x'", "empties x, on prod"),
        ("sqlite3 x.db 'delete from a'", "deletes every row of a, in the database /code/app/x.db"),
        ("cqlsh prod -k app -e 'TRUNCATE x'", "empties x, in the database app on prod"),
        ("redis-cli -h prod -n 3 FLUSHDB", "deletes every key of database 3 on prod"),
        ("redis-cli -u redis://:secret@prod flushdb", "deletes every key of database 0 on redis://prod"),
        ("redis-cli flushall", "deletes every key of every database on the default machine"),
        ("mysqladmin -h prod drop x", "deletes the database x with everything in it on prod"),
        ("dropuser me", "deletes the user me on the default machine"),
        ("mongosh --host prod shop --eval 'db.x.drop()'", "deletes what this names: 'db.x.drop()', in shop on prod"),
    ],
)
def test_the_database_and_its_machine_are_told(line: str, impact: str) -> None:
    assert worst(line).impact == impact


@pytest.mark.parametrize(
    ("line", "impact"),
    [
        ("terraform destroy", "destroys every resource, managed by the state in /code/app"),
        ("terraform destroy -target=aws_x.y", "destroys aws_x.y, managed by the state in /code/app"),
        ("terraform destroy -target a.b -target c.d", "destroys a.b c.d, managed by the state in /code/app"),
        ("terraform apply -destroy -target=a.b", "destroys a.b, managed by the state in /code/app"),
        ("pulumi -s prod destroy", "destroys every resource of the stack prod in /code/app"),
        ("sst remove --stage prod", "destroys what the project in /code/app has deployed: prod"),
        ("heroku pg:reset", "deletes everything in the database: that of this folder's application"),
        ("heroku apps:destroy -a x --confirm x", "deletes the application x with its add-ons and their data"),
        (
            "railway down",
            "takes down the latest deployment of the service that is linked to this folder in the linked environment",
        ),
        ("vercel remove x --yes", "deletes x and the data it holds"),
        ("vercel domains rm x.example", "deletes domains x.example and the data it holds"),
        ("dokku apps:destroy rm", "deletes apps rm and the data it holds"),
        ("kamal remove", "deletes what this project has deployed and the data it holds"),
        ("oci x delete-y z", "deletes in the cloud: x y z"),
        (
            "aws ec2 terminate-instances --instance-ids i-1 i-2 --region r",
            "terminates the machines i-1 i-2 with the disks that go with them",
        ),
        ("aws dynamodb delete-table --table-name=x", "deletes the table x with all its items"),
        ("aws sns delete-topic --topic-arn x", "deletes in the cloud: delete-topic x"),
        (
            "aws kms schedule-key-deletion",
            "schedules the key no names given for deletion: what it encrypts cannot be read any more",
        ),
        ("az sql db delete -g x -s srv -n y", "deletes the database y on the server srv"),
        ("az group delete --yes -n x", "deletes the resource group x with everything in it"),
        ("az ad group delete -g x", "deletes in the cloud: x"),
        ("gcloud projects delete x -q", "shuts down the project x with everything in it"),
    ],
)
def test_what_a_command_hits_is_told_without_its_verb(line: str, impact: str) -> None:
    assert worst(line).impact == impact


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("aws kms schedule-key-deletion --key-id k", "`aws kms cancel-key-deletion --key-id k`"),
        ("aws rds delete-db-instance --db-instance-identifier x", "snapshot"),
        ("aws dynamodb delete-table --table-name x", "point-in-time recovery"),
        ("aws ec2 terminate-instances --instance-ids x", "from an image"),
        ("aws secretsmanager delete-secret --secret-id x", "`aws secretsmanager restore-secret --secret-id x`"),
        ("aws lambda delete-function --function-name x", "deploy it again"),
        ("aws --profile p iam delete-user --user-name x", "keys and passwords do not come back"),
        ("aws ecr batch-delete-image --repository-name x", "push the images again"),
        ("aws eks delete-cluster --name x", "apply its manifests"),
        ("aws sns delete-topic --topic-arn x", "an older version of that service"),
        ("gcloud projects delete x", "`gcloud projects undelete x` within 30 days"),
        ("gcloud beta iam service-accounts delete x", "undelete"),
        ("gcloud sql instances delete x", "backup"),
        ("gcloud redis instances delete dns", "restore it from a snapshot or a backup of that service"),
        ("az group delete -n x", "a group does not come back"),
        ("az keyvault delete -n x", "`az keyvault recover --name x`"),
        ("az keyvault purge -n x", "what is purged does not come back"),
        ("az storage blob delete -c x -n y", "`az storage blob undelete`"),
        ("az sql db delete -n x", "`az sql db restore --deleted-time`"),
        ("vault operator seal", "`vault operator unseal`"),
        ("railway down", "`railway redeploy`"),
        ("heroku pg:reset", "`heroku pg:backups:restore`"),
    ],
)
def test_the_way_back_is_that_of_this_command(line: str, advice: str) -> None:
    assert advice in (worst(line).rollback or "")
