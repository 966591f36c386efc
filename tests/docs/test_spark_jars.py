"""The jars for S3 that docs/spark.md names are those with which the tests run."""

import re
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]


def test_dp_6_the_jars_for_s3_in_the_docs_are_those_of_the_tests() -> None:
    pom = ElementTree.parse(ROOT / "tests" / "stock" / "poms" / "hadoop-aws.xml").getroot()
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    names = ("groupId", "artifactId", "version")
    tested = {
        ":".join(one.findtext(f"m:{name}", "", space) for name in names)
        for one in pom.iterfind(".//m:dependency", space)
    }
    left_out = {
        ":".join(one.findtext(f"m:{name}", "", space) for name in names[:2])
        for one in pom.iterfind(".//m:exclusion", space)
    }
    text = (ROOT / "docs" / "spark.md").read_text().partition("### Jars for S3")[2].partition("\n#")[0]
    [packages] = re.findall(r"spark\.jars\.packages=(\S+,\\\n\S+)", text)
    assert set(packages.replace("\\\n", "").split(",")) == tested
    assert set(re.findall(r"spark\.jars\.excludes=(\S+)", text)) == left_out
